// What an event of a turn does to its rows (C-013). Everything else of the page is not touched here.

import { append, saidAt } from './marked-text.ts';
import { completeItem, finishedItem, isRunning, maxDetailBytes, newCard, startedItem, withItem } from './tool-card.ts';
import { dropAttempt } from './drop-attempt.ts';
import { firstOfTurn, grow, openCard, push, replaceRow, withCard, withTurn, type Page } from './page.ts';
import { unheard } from './turn.ts';
import type { ToolItem, ToolRow } from './row.ts';
import type { TurnEvent } from './turn-event.ts';

type Event<T extends TurnEvent['type']> = Extract<TurnEvent, { type: T }>;

export function growRows(page: Page, event: TurnEvent, atMs: number): Page {
  switch (event.type) {
    case 'item_added':
      return event.index <= page.turn.top ? dropAttempt(page, { index: event.index, kept: '' }) : page;
    case 'text_delta':
      return say(page, event.text, placeOf(page, event.index));
    case 'text_whole':
      return sayRest(page, event);
    case 'reasoning_delta':
      return think(page, event.text, placeOf(page, event.index));
    case 'tool_start':
      return startTool(page, event, atMs);
    case 'tool_result':
      return finishTool(page, event, atMs);
    case 'attempt_reset':
      return dropAttempt(page, event);
    case 'approval_required':
    case 'recovery_required':
      return markItem(page, event.approval.call_id, { state: 'waiting', atMs });
    case 'approval_decided':
      return markItem(page, event.approval.call_id, { state: 'running', atMs });
    case 'user_message':
      return withTurn(push(page, { kind: 'user', text: event.text }), { open: 'none' });
    case 'created':
    case 'waiting':
    case 'todos_updated':
    case 'model_switched':
    case 'compacted':
    case 'file_changed':
    case 'budget_reached':
    case 'gap':
    case 'ended':
      return page;
  }
}

function placeOf({ turn }: Page, index: number | null): number {
  return index ?? turn.leg;
}

/** White space alone is no boundary: it waits for real text where no segment is open. */
function say(page: Page, text: string, index: number): Page {
  if (text === '') return page;
  const { turn } = page;
  const blank = text.trim() === '';
  if (blank && !turn.spoke) return page;
  const said = withTurn(page, { said: append(turn.said, { index, text }, Infinity) });
  if (blank && turn.open !== 'assistant') return withTurn(said, { held: turn.held + text });
  const shown = grow(said, 'assistant', { text: turn.held + text, index });
  if (turn.spoke && turn.held === '' && turn.top >= index) return shown;
  return withTurn(shown, { held: '', spoke: true, top: Math.max(turn.top, index) });
}

/** The deltas of a place may have been lost, or never sent. */
function sayRest(page: Page, { text, index }: Event<'text_whole'>): Page {
  const said = saidAt(page.turn.said, index);
  // Leading white space may never have been shown.
  const whole = text.startsWith(said) ? text : text.trimStart();
  const rest = whole.startsWith(said) ? whole.slice(said.length) : '';
  return rest.trim() === '' ? page : say(page, rest, index);
}

function think(page: Page, text: string, index: number): Page {
  if (page.turn.open !== 'thinking' && text.trim() === '') return page;
  const shown = grow(page, 'thinking', { text, index });
  return page.turn.top >= index ? shown : withTurn(shown, { top: index });
}

function startTool(page: Page, event: Event<'tool_start'>, atMs: number): Page {
  const index = placeOf(page, event.index);
  return afterTool(addItem(page, startedItem(event, index, roomIn(page)), atMs), index);
}

function finishTool(page: Page, event: Event<'tool_result'>, atMs: number): Page {
  const found = event.id === null ? newestOf(page, event.name) : itemOf(page, event.id);
  if (found !== null) {
    const card = completeItem(found.row, found.item, { ...event, atMs });
    const next = replaceRow(page, found.at, withCard(found.row, card));
    return withTurn(next, { leg: page.turn.leg + 1 });
  }
  // What is over is never given up.
  return afterTool(addItem(page, finishedItem(event, -1, roomIn(page)), atMs), -1);
}

function roomIn(page: Page): number {
  return maxDetailBytes - (openCard(page)?.detailBytes ?? 0);
}

function afterTool(page: Page, index: number): Page {
  const { turn } = page;
  const details = { ...turn.details, calls: turn.details.calls + 1 };
  return withTurn(page, { open: 'none', leg: turn.leg + 1, top: Math.max(turn.top, index), details });
}

function addItem(page: Page, item: ToolItem, atMs: number): Page {
  const card = openCard(page);
  if (card === null) return push(page, { kind: 'tool_run', ...newCard(item, atMs) });
  return replaceRow(page, page.rows.length - 1, withCard(card, withItem(card, item, atMs)));
}

interface Found {
  readonly row: ToolRow;
  readonly at: number;
  /** Its place in the card. */
  readonly item: number;
}

/** The call of this id, in whichever card of the turn it is. */
function itemOf({ rows, turn }: Page, id: string): Found | null {
  for (let at = rows.length - 1; rows[at]?.turn === turn.id; at--) {
    const row = rows[at];
    if (row?.kind !== 'tool_run') continue;
    const item = row.items.findLastIndex((each) => each.id === id);
    if (item >= 0) return { row, at, item };
  }
  return null;
}

/** The newest running call of this name in the card that is the last row. */
function newestOf(page: Page, name: string): Found | null {
  const row = openCard(page);
  const item = row?.items.findLastIndex((each) => each.state === 'running' && each.name === name) ?? -1;
  return row === null || item < 0 ? null : { row, at: page.rows.length - 1, item };
}

/** What a person is waited for is not time that the calls took. */
function markItem(
  page: Page,
  id: string,
  { state, atMs }: { readonly state: 'waiting' | 'running'; readonly atMs: number },
): Page {
  const found = itemOf(page, id);
  const before = found?.row.items[found.item];
  const fits = state === 'waiting' ? 'running' : 'waiting';
  if (found === null || before === undefined || before.state !== fits) return page;
  const { row, at } = found;
  const waitedMs = state === 'running' && !isRunning(row) ? atMs - row.changedMs : 0;
  const items = row.items.with(found.item, { ...before, state });
  return replaceRow(page, at, { ...row, items, startedMs: row.startedMs + waitedMs, changedMs: atMs });
}

/** The turn from its beginning: only what was asked stands. */
export function restart({ rows, turn }: Page): Page {
  const first = firstOfTurn(rows, turn.id);
  const asked = rows[first]?.kind === 'user' && rows[first]?.place === 0;
  return {
    rows: rows.slice(0, asked ? first + 1 : first),
    turn: { ...turn, ...unheard, pushed: asked ? 1 : 0, places: asked ? 1 : 0 },
  };
}
