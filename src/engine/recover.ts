// What a new owner writes before it goes on with a run that was cut off (crash points of E 13.2). Pure.
//
// K1. A committed reply is never asked for again; a cut attempt always is, after an `attempt-reset` that says
//     what became of its owner.
// K2. Of an accepted reply nothing has to be written first: `run-tools.ts` answers what has returned and judges what was
//     dispatched and never came back.

import { resetAttempt } from './react.ts';
import type { EventDraft, LeftBy } from '../core/run-event.ts';
import type { RunState } from '../core/run-state.ts';

export function recover(state: RunState, nowMs: number, reason: LeftBy): readonly EventDraft[] {
  const { open } = state;
  if (open === null || state.result !== null) return [];
  switch (open.stage.at) {
    case 'calling':
      return [resetAttempt(state, { reason, retryInMs: 0 })];
    case 'backoff':
      // A wait that has passed, or whose attempt has shown something (clocks of two machines differ), counts as a begun
      // attempt; one that still runs is waited out (E-214).
      return open.stage.untilMs <= nowMs || open.shown ? [resetAttempt(state, { reason, retryInMs: 0 })] : [];
    case 'accepted':
      return [];
  }
}
