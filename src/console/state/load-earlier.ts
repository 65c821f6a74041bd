// Older rows, 512 at a time (C-038). They are read from the server: what left the window is not kept.

import { maxRows, stay, withEffects, type Reduced } from './reduced.ts';
import { foldStored } from './from-history.ts';
import type { Action } from './action.ts';
import type { ConsoleState } from './state.ts';
import type { Row, TurnId } from './row.ts';

export const earlierRows = 512;

export function askEarlier(state: ConsoleState): Reduced {
  const first = state.rows[0];
  if (state.phase.name !== 'ready' || state.earlier !== 'more' || first === undefined || state.session.kind !== 'open')
    return stay(state);
  return withEffects(
    { ...state, earlier: 'loading' },
    { type: 'fetchEarlier', sessionId: state.session.id, upTo: responseIdOf(state, first.turn) },
  );
}

export function responseIdOf({ responses }: Pick<ConsoleState, 'responses'>, turn: TurnId): string {
  return responses.get(turn) ?? turn;
}

export function takeEarlier(
  state: ConsoleState,
  { turns, more }: Extract<Action, { type: 'earlier_loaded' }>,
): Reduced {
  // A turn that was begun while it was read has brought its reader back to the newest rows.
  if (state.earlier !== 'loading' || state.phase.name !== 'ready') return stay(state);
  const first = state.rows[0];
  const read = turns.flatMap((turn) => foldStored(turn).rows);
  const { older, kept } = first === undefined ? { older: read, kept: [] } : splitAt(state, read, first);
  const rows = [...older.slice(-earlierRows), ...kept];
  return stay({
    ...state,
    rows: rows.slice(0, maxRows),
    newest: rows.length > maxRows ? (state.newest ?? state.rows) : state.newest,
    earlier: more || older.length > earlierRows ? 'more' : 'none',
  });
}

/** A card that stands half in the window gives way to the whole one; thinking beside it has no place in what is read. */
function splitAt(
  state: ConsoleState,
  read: readonly Row[],
  first: Row,
): { readonly older: readonly Row[]; readonly kept: readonly Row[] } {
  const turn = responseIdOf(state, first.turn);
  const halved = first.kind === 'tool_run' || first.kind === 'thinking';
  const end = read.findIndex(
    (row) => row.turn === turn && (halved ? row.place > first.place : row.place >= first.place),
  );
  const from = halved ? state.rows.findIndex((row) => row.turn !== first.turn || row.place > first.place) : 0;
  const reaches = end >= 0 || read.at(-1)?.turn === turn;
  return {
    older: read.slice(0, end < 0 ? read.length : end),
    kept: !reaches || from === 0 ? state.rows : from < 0 ? [] : state.rows.slice(from),
  };
}
