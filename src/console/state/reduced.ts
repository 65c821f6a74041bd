import type { ConsoleState } from './state.ts';
import type { Effect } from './effect.ts';
import type { Page } from './page.ts';
import type { Turn } from './turn.ts';

export interface Reduced {
  /** The same object where nothing changed. */
  readonly state: ConsoleState;
  /** In order. */
  readonly effects: readonly Effect[];
}

const none: readonly Effect[] = [];

export function stay(state: ConsoleState): Reduced {
  return { state, effects: none };
}

export function withEffects(state: ConsoleState, ...effects: readonly Effect[]): Reduced {
  return { state, effects };
}

export function andThen({ state, effects }: Reduced, next: (state: ConsoleState) => Reduced): Reduced {
  const after = next(state);
  if (effects.length === 0) return after;
  return after.effects.length === 0
    ? { state: after.state, effects }
    : { state: after.state, effects: [...effects, ...after.effects] };
}

/** The turn at work with other facts. Nothing where none is at work. */
export function changeTurn(state: ConsoleState, change: Partial<Turn>): ConsoleState {
  const { phase } = state;
  if (phase.name !== 'busy' && phase.name !== 'stopping') return state;
  return { ...state, phase: { ...phase, turn: { ...phase.turn, ...change } } };
}

export const maxRows = 2_048;

/** The window after the turn has grown: the oldest rows leave, and can be had again (C-038). */
export function withPage(state: ConsoleState, { rows, turn }: Page): ConsoleState {
  const { phase } = state;
  if (phase.name !== 'busy' && phase.name !== 'stopping') return state;
  if (rows === state.rows && turn === phase.turn) return state;
  const next = { ...state, phase: turn === phase.turn ? phase : { ...phase, turn } };
  return withRows(next, rows);
}

export function withRows(state: ConsoleState, rows: readonly ConsoleState['rows'][number][]): ConsoleState {
  if (rows.length <= maxRows) return { ...state, rows };
  return {
    ...state,
    rows: rows.slice(-maxRows),
    earlier: state.preferences.transport === 'task' ? 'more' : state.earlier,
  };
}
