// What an event of a task's stream is for the page (C-013): pure, one event at a time. Events that change nothing to be seen
// give nothing; they move the cursor all the same.

import { endingOfResponse } from './end-line.ts';
import { spentBy } from '../../views/session-spending.ts';
import type { Approval, OutputItem, TaskEvent, UhpResponse } from './wire.ts';
import type { TurnEnd, TurnEvent } from './turn-event.ts';

type OwnEvent = Extract<TaskEvent, { type: `reins.${string}` }>;

export function fromUhp(event: TaskEvent): readonly TurnEvent[] {
  if (isOwn(event)) return ownEvent(event);
  switch (event.type) {
    case 'response.created':
      return [createdBy(event.response)];
    case 'response.output_item.added':
      return [{ type: 'item_added', index: event.output_index }];
    case 'response.output_text.delta':
      return [{ type: 'text_delta', text: event.delta, index: event.output_index }];
    case 'response.reasoning_summary_text.delta':
      return [{ type: 'reasoning_delta', text: event.delta, index: event.output_index }];
    case 'response.output_item.done':
      return itemDone(event.item, event.output_index);
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      return [endOf(event.response)];
    case 'response.in_progress':
    case 'response.content_part.added':
    case 'response.content_part.done':
    case 'response.output_text.done':
    case 'response.output_text.annotation.added':
    case 'response.reasoning_summary_part.added':
    case 'response.reasoning_summary_part.done':
    case 'response.function_call_arguments.delta':
    case 'response.function_call_arguments.done':
    case 'error':
      return [];
  }
}

function isOwn(event: TaskEvent): event is OwnEvent {
  return event.type.startsWith('reins.');
}

function ownEvent(event: OwnEvent): readonly TurnEvent[] {
  switch (event.type) {
    case 'reins.attempt_reset':
      return [{ type: 'attempt_reset', index: event.output_index, kept: '', retryInMs: event.retry_in_ms ?? null }];
    case 'reins.tool_result': {
      const { call_id: id, name, ok, summary, preview = null } = event;
      return [{ type: 'tool_result', id, name, ok, summary, preview }];
    }
    case 'reins.waiting':
      return [waitingFor(event)];
    case 'reins.todos_updated': {
      const { todos: items, completed, total, in_progress: current } = event;
      return [{ type: 'todos_updated', todos: { items, completed, total, current } }];
    }
    case 'reins.approval_required':
      return [{ type: 'approval_required', approval: event.approval }];
    case 'reins.recovery_required':
      return [{ type: 'recovery_required', approval: event.approval }];
    case 'reins.approval_decided':
      return [{ type: 'approval_decided', approval: event.approval }];
    case 'reins.user_message':
      return [{ type: 'user_message', messageId: event.message_id, text: event.text }];
    case 'reins.model_switched':
      return [{ type: 'model_switched', from: event.from, to: event.to, reason: event.reason }];
    case 'reins.compacted':
      return [{ type: 'compacted', tokensBefore: event.tokens_before, tokensAfter: event.tokens_after }];
    case 'reins.file_changed':
      return [{ type: 'file_changed', path: event.path, kind: event.kind }];
    case 'reins.budget_reached':
      return [{ type: 'budget_reached', budget: event.budget }];
    case 'reins.gap':
      return [{ type: 'gap', reason: event.reason }];
  }
}

function waitingFor(event: Extract<OwnEvent, { type: 'reins.waiting' }>): TurnEvent {
  const { on, seconds, name, position, heard_seconds_ago: heardSecondsAgo = null } = event;
  const what = position === undefined ? name : `number ${position} in the line`;
  return { type: 'waiting', on, seconds, name: what, heardSecondsAgo };
}

export function createdBy({ id, model, metadata }: UhpResponse): TurnEvent {
  return { type: 'created', responseId: id, sessionId: textIn(metadata, 'session_id'), model };
}

/** A call that is incomplete was never made good: it has no card. */
function itemDone(item: OutputItem, index: number): readonly TurnEvent[] {
  if (item.type === 'message' && item.status !== 'incomplete')
    return [{ type: 'text_whole', text: messageText(item), index }];
  if (item.type !== 'function_call' || item.status === 'incomplete') return [];
  return [{ type: 'tool_start', id: item.call_id, name: item.name, index, input: item.arguments }];
}

export function endOf(response: UhpResponse): TurnEnd {
  return {
    type: 'ended',
    ending: endingOfResponse(response) ?? { kind: 'error', detail: 'stream ended early' },
    text: response.output.map((item) => (item.type === 'message' ? messageText(item) : '')).join(''),
    spent: spentBy(response),
    undelivered: textsIn(response.metadata['reins_undelivered']),
    cwd: null,
  };
}

export function messageText({ content }: Extract<OutputItem, { type: 'message' }>): string {
  return content.map(({ text }) => text).join('');
}

export function isUndecided({ status }: Approval): boolean {
  return status === 'pending' || status === 'uncertain';
}

function textIn(object: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = object[name];
  return typeof value === 'string' ? value : null;
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}
