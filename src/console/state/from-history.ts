// Turns that are over, as rows: the same fold as of one that is under way, without thinking (C-035, C-037).

import { endOf, fromUhp, messageText } from './from-uhp.ts';
import { finishTurn } from './finish-turn.ts';
import { growRows } from './grow-rows.ts';
import { newTurn } from './turn.ts';
import { push, type Page } from './page.ts';
import { toolPreview, toolSummary } from '../../views/tool-summary.ts';
import type { OutputItem, UhpResponse } from './wire.ts';
import type { Row } from './row.ts';
import type { StoredTurn } from './stored-turn.ts';
import type { Todos, TurnEvent } from './turn-event.ts';

export interface Folded {
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
  const read: string[] = [];
  for (const event of source.kind === 'log' ? source.events.flatMap(fromUhp) : eventsOfResponse(source.response)) {
    if (event.type === 'ended') {
      page = finishTurn(page, event, startedMs);
      break;
    }
    if (event.type === 'todos_updated') todos = event.todos;
    if (event.type === 'user_message') read.push(event.messageId);
    if (event.type !== 'reasoning_delta') page = growRows(page, event, startedMs);
  }
  return { rows: page.rows, todos, read };
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
      return item.status === 'completed' ? [{ type: 'tool_start', id: item.call_id, name: item.name, index }] : [];
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
