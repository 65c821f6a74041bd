// A task that was let come to rest (C-031). No event of its stream says so: the session does, and what is heard of it since
// puts it in doubt.

import { changeTurn, stay, withEffects, type Reduced } from './reduced.ts';
import { responseOf } from './turn.ts';
import { turnOf, type ConsoleState } from './state.ts';
import type { UhpSession } from './wire.ts';

export function pausedBy({ reins_paused: paused }: UhpSession): 'no' | 'yes' {
  return paused === undefined ? 'no' : 'yes';
}

export function isPaused(state: Pick<ConsoleState, 'session' | 'phase'>): boolean {
  return state.session.kind === 'open' && state.session.paused !== 'no' && state.phase.name === 'busy';
}

/** Where its log is read anew, as much is heard of a task at rest. */
export function doubtPause(state: ConsoleState): Reduced {
  const { session } = state;
  if (session.kind !== 'open' || session.paused !== 'yes') return stay(state);
  const unsure: ConsoleState = { ...state, session: { ...session, paused: 'unsure' } };
  return withEffects(unsure, { type: 'lookAtSession', sessionId: session.id });
}

/** A person lets it go on; it is shown at once, and told otherwise where the server says so. */
export function resume(state: ConsoleState): Reduced {
  const { session } = state;
  const turn = turnOf(state);
  const responseId = turn === null ? null : responseOf(turn);
  if (!isPaused(state) || session.kind !== 'open' || responseId === null) return stay(state);
  const going = changeTurn({ ...state, session: { ...session, paused: 'no' } }, { activity: { kind: 'working' } });
  return withEffects(
    going,
    { type: 'resume', sessionId: session.id, responseId },
    { type: 'announce', text: 'Working', urgency: 'status' },
    { type: 'focus', target: { kind: 'composer' } },
  );
}
