import { userText } from '../core/user-text.ts';
import type { JsonObject } from '../core/json.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { UiDataChunk, UiDataName } from '../protocol/ui/chunk.ts';

type Told =
  | 'waiting'
  | 'todos-updated'
  | 'user-message'
  | 'model-switched'
  | 'recovery-required'
  | 'budget-reached'
  | 'gap';

/** What a UI message has no word for: parts of our own (P-062). Each has an id, so that saying it again adds nothing. */
export function uiDataOf(event: Extract<RunEvent, { type: Told }>): readonly UiDataChunk[] {
  switch (event.type) {
    case 'waiting': {
      const { on, seconds, name, position } = event.data;
      const named = name === undefined ? {} : { name };
      const data = { on, seconds, ...named, ...(position === undefined ? {} : { position }) };
      return [{ type: 'data-reins-waiting', data, transient: true }];
    }
    case 'todos-updated': {
      const { todos, completed, total, inProgress } = event.data;
      const data = {
        todos: todos.map(({ content, status }) => ({ content, status })),
        completed,
        total,
        ...(inProgress === null ? {} : { inProgress }),
      };
      return part('todos', 'todos', data);
    }
    case 'user-message': {
      const { mode, messageId, content } = event.data;
      // What the engine says to its model is not for display.
      return mode === 'steer' ? part('user-message', messageId, { messageId, text: userText(content) }) : [];
    }
    case 'model-switched': {
      const { from, to, reason } = event.data;
      return part('model', `model-${event.seq}`, { from: from.model, to: to.model, reason });
    }
    case 'recovery-required': {
      const { approvalId, call } = event.data;
      return part('recovery', approvalId, { toolCallId: call.id, toolName: call.name });
    }
    case 'budget-reached': {
      const { budget, limit, used } = event.data;
      return part('budget', `budget-${event.seq}`, { budget, limit, used });
    }
    case 'gap':
      return part('gap', `gap-${event.seq}`, { reason: event.data.reason });
  }
}

function part(name: UiDataName, id: string, data: JsonObject): readonly UiDataChunk[] {
  return [{ type: `data-reins-${name}`, id, data }];
}
