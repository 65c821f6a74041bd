// Stop: the cancel call, then whichever is first of its answer and the stream (C-032). Leaving the page stops nothing.

import { bareEnd } from './end-line.ts';
import { endTurn } from './run-turn.ts';
import { responseOf, type Turn } from './turn.ts';
import { stay, withEffects, type Reduced } from './reduced.ts';
import { withNotice } from './notices.ts';
import { turnOf, type ConsoleState } from './state.ts';

const patienceMs = 10_000;

export function stop(state: ConsoleState, atMs: number): Reduced {
  if (state.phase.name !== 'busy') return stay(state);
  const { turn } = state.phase;
  // What never left needs no call, and the simple mode is stopped by hanging up.
  if (turn.request.kind === 'unsent' || turn.transport === 'agent') return endStopped(state, turn, atMs);
  const stopping: ConsoleState = {
    ...state,
    phase: { name: 'stopping', turn, sinceMs: atMs },
    queue: { ...state.queue, resting: true },
  };
  const responseId = responseOf(turn);
  // Without a name it is cancelled as soon as it has one.
  return responseId === null ? stay(stopping) : withEffects(stopping, { type: 'cancel', turn: turn.id, responseId });
}

function endStopped(state: ConsoleState, turn: Turn, atMs: number): Reduced {
  return endTurn(state, { rows: state.rows, turn }, { end: bareEnd({ kind: 'stopped' }), atMs });
}

export function failCancel(
  state: ConsoleState,
  turnId: string,
  told: { readonly id: string; readonly text: string },
): Reduced {
  if (state.phase.name !== 'stopping' || state.phase.turn.id !== turnId) return stay(state);
  return withNotice(goOn(state, state.phase.turn), told);
}

/** Nobody answered: the button comes back. */
export function stopWaiting(state: ConsoleState, atMs: number): Reduced {
  if (state.phase.name !== 'stopping' || atMs - state.phase.sinceMs < patienceMs) return stay(state);
  const { turn } = state.phase;
  return withNotice(goOn(state, turn), {
    id: `stop ${turn.id}`,
    text: 'The stop was not confirmed within 10 seconds; the agent may still be at work.',
  });
}

function goOn(state: ConsoleState, turn: Turn): ConsoleState {
  return { ...state, phase: { name: 'busy', turn } };
}

export function markSent(state: ConsoleState, turnId: string): ConsoleState {
  const turn = turnOf(state);
  if (turn === null || turn.id !== turnId || turn.request.kind !== 'unsent') return state;
  const request = { ...turn.request, kind: 'sent' } as const;
  return state.phase.name === 'busy' ? { ...state, phase: { name: 'busy', turn: { ...turn, request } } } : state;
}
