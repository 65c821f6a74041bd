import type { EventDraft, RunEvent } from '../core/run-event.ts';
import type { ReinsEvent } from '../protocol/uhp/events.ts';
import { userText } from '../core/user-text.ts';

type Shown =
  | 'waiting'
  | 'todos-updated'
  | 'user-message'
  | 'model-switched'
  | 'compacted'
  | 'file-changed'
  | 'budget-reached'
  | 'gap';

/** Reins' own event for a log event that needs no item and no approval (UD-82); null where it is not for display. */
export function reinsEventOf(event: Extract<EventDraft | RunEvent, { type: Shown }>): ReinsEvent | null {
  switch (event.type) {
    case 'waiting': {
      const { on, seconds, name = null, position, lastByteMs } = event.data;
      return {
        type: 'reins.waiting',
        on,
        seconds,
        name,
        ...(position === undefined ? {} : { position }),
        ...(lastByteMs === undefined ? {} : { heard_seconds_ago: Math.round(lastByteMs / 100) / 10 }),
      };
    }
    case 'todos-updated': {
      const { todos, completed, total, inProgress } = event.data;
      return { type: 'reins.todos_updated', todos, completed, total, in_progress: inProgress };
    }
    case 'user-message': {
      if (event.data.mode !== 'steer') return null;
      return { type: 'reins.user_message', message_id: event.data.messageId, text: userText(event.data.content) };
    }
    case 'model-switched': {
      const { from, to, reason } = event.data;
      return { type: 'reins.model_switched', from: from.model, to: to.model, reason };
    }
    case 'compacted': {
      const { trigger, tokensBefore, tokensAfter } = event.data;
      return { type: 'reins.compacted', trigger, tokens_before: tokensBefore, tokens_after: tokensAfter };
    }
    case 'file-changed': {
      const { kind, path, bytes } = event.data;
      return { type: 'reins.file_changed', kind, path, bytes: bytes ?? null };
    }
    case 'budget-reached': {
      const { budget, limit, used } = event.data;
      return { type: 'reins.budget_reached', budget, limit, used };
    }
    case 'gap':
      return { type: 'reins.gap', reason: event.data.reason };
  }
}
