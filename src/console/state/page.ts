// The rows and the turn that grows them.
//
// R1. Only the last row grows, and only if it is of the turn and of the kind that fits; otherwise a row is pushed (C-012).
// R2. Ids and places are counted in the turn, so the same events give the same ones.
// R3. A row that does not change is the same object in the next state.

import { append, noText, type Piece } from './marked-text.ts';
import type { AssistantRow, ErrorRow, Row, SystemRow, ThinkingRow, ToolCard, ToolRow, TurnId, UserRow } from './row.ts';
import type { Turn } from './turn.ts';

export interface Page {
  readonly rows: readonly Row[];
  readonly turn: Turn;
}

type Unplaced<R extends Row> = R extends Row ? Omit<R, 'id' | 'turn' | 'place'> : never;
export type NewRow = Unplaced<UserRow | AssistantRow | ThinkingRow | SystemRow | ErrorRow | ToolRow>;

export function push({ rows, turn }: Page, row: NewRow): Page {
  const id = `${turn.id}/${turn.pushed}`;
  const before = lastPlaced(rows, turn.id);
  const joins = row.kind === 'thinking' || (row.kind === 'tool_run' && before === 'tool_run');
  const place = joins ? Math.max(0, turn.places - 1) : turn.places;
  const placed: Row = { ...row, id, turn: turn.id, place };
  return {
    rows: [...rows, placed],
    turn: { ...turn, pushed: turn.pushed + 1, places: joins ? turn.places : turn.places + 1 },
  };
}

/** The kind of the turn's newest row that is not thinking. */
function lastPlaced(rows: readonly Row[], turn: TurnId): Row['kind'] | null {
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows[at];
    if (row === undefined || row.turn !== turn) return null;
    if (row.kind !== 'thinking') return row.kind;
  }
  return null;
}

export function withTurn(page: Page, change: Partial<Turn>): Page {
  return { rows: page.rows, turn: { ...page.turn, ...change } };
}

/** Grows the open row of this kind, or pushes one. */
export function grow(page: Page, kind: 'assistant' | 'thinking', piece: Piece): Page {
  const last = page.rows.at(-1);
  if (page.turn.open === kind && last !== undefined && last.kind === kind && last.turn === page.turn.id) {
    const grown: Row = { ...last, ...append(last, piece) };
    return { rows: page.rows.with(page.rows.length - 1, grown), turn: page.turn };
  }
  const text = append(noText, piece);
  return withTurn(push(page, { kind, ...text }), { open: kind });
}

/** Where the turn's rows begin; the number of rows where it has none. They are the last ones. */
export function firstOfTurn(rows: readonly Row[], turn: TurnId): number {
  let at = rows.length;
  while (at > 0 && rows[at - 1]?.turn === turn) at--;
  return at;
}

export function replaceRow(page: Page, at: number, row: Row): Page {
  return page.rows[at] === row ? page : { rows: page.rows.with(at, row), turn: page.turn };
}

/** The last row, if it is a card of this turn. */
export function openCard({ rows, turn }: Page): ToolRow | null {
  const last = rows.at(-1);
  return last?.kind === 'tool_run' && last.turn === turn.id ? last : null;
}

export function withCard(row: ToolRow, card: ToolCard): ToolRow {
  return { ...row, ...card };
}
