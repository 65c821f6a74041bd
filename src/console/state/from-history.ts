// Turns that are over, as rows: the same fold as of one that is under way, without thinking (C-035, C-037).

import { bareEnd } from './end-line.ts';
import { createdBy, endOf, fromUhp, messageText } from './from-uhp.ts';
import { detailsAfter } from './turn-details.ts';
import { finishTurn } from './finish-turn.ts';
import { growRows } from './grow-rows.ts';
import { newTurn } from './turn.ts';
import { push, withTurn, type Page } from './page.ts';
import { toolPreview, toolSummary } from '../../views/tool-summary.ts';
import type { EndedTurn } from './state.ts';
import type { OutputItem, Spent, UhpResponse } from './wire.ts';
import type { Row } from './row.ts';
import type { StoredTurn } from './stored-turn.ts';
import type { Todos, TurnEvent } from './turn-event.ts';

export interface Folded extends Pick<EndedTurn, 'details' | 'spent'> {
  readonly rows: readonly Row[];
  /** The last list that the turn made; null: none. */
  readonly todos: Todos | null;
  /** Steering messages that it read. */
  readonly read: readonly string[];
}

export function foldStored({ id, user, startedMs, source }: StoredTurn): Folded {
  const empty = newTurn({ id, transport: 'task', request: { kind: 'named', responseId: id }, startedMs });
  let page: Page = push({ rows: [], turn: empty }, { kind: 'user', text: user });
  let todos: Todos | null = null;
  let spent: Spent = {};
  const read: string[] = [];
  for (const event of eventsOf(source)) {
    if (event.type === 'ended') {
      ({ spent } = event);
      page = finishTurn(page, event, startedMs);
      break;
    }
    if (event.type === 'todos_updated') todos = event.todos;
    if (event.type === 'user_message') read.push(event.messageId);
    if (event.type === 'reasoning_delta') continue;
    page = growRows(page, event, startedMs);
    page = withTurn(page, { details: detailsAfter(page.turn.details, event) });
  }
  return { rows: page.rows, todos, read, details: page.turn.details, spent };
}

function eventsOf(source: StoredTurn['source']): readonly TurnEvent[] {
  switch (source.kind) {
    case 'log':
      return source.events.flatMap(fromUhp);
    case 'answer':
      return [{ ...bareEnd({ kind: 'finished' }), text: source.text, spent: source.spent }];
    case 'response':
      return [createdBy(source.response), ...eventsOfResponse(source.response)];
  }
}

/** What can be told of a response whose events are not to be had: the end only where it has one. */
export function eventsOfResponse(response: UhpResponse): readonly TurnEvent[] {
  const names = new Map<string, string>();
  for (const item of response.output) if (item.type === 'function_call') names.set(item.call_id, item.name);
  const shown = response.output.flatMap((item, index) => eventsOfItem(item, index, names));
  return response.status === 'in_progress' ? shown : [...shown, endOf(response)];
}

function eventsOfItem(item: OutputItem, index: number, names: ReadonlyMap<string, string>): readonly TurnEvent[] {
  switch (item.type) {
    case 'message':
      return [{ type: 'text_delta', text: messageText(item), index }];
    case 'function_call':
      return item.status === 'completed'
        ? [{ type: 'tool_start', id: item.call_id, name: item.name, index, input: item.arguments }]
        : [];
    case 'function_call_output': {
      const name = names.get(item.call_id) ?? 'tool';
      const ok = item.status === 'completed' && !/^\s*error\b/i.test(item.output);
      const summary = toolSummary({ name, content: item.output, isError: !ok });
      return [{ type: 'tool_result', id: item.call_id, name, ok, summary, preview: toolPreview(item.output) }];
    }
    case 'reasoning':
      return [];
    default:
      item satisfies never;
      return [];
  }
}
