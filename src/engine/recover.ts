// What a new owner writes before it goes on with a run that was cut off (crash points of E 13.2). Pure.
//
// K1. A committed reply is never asked for again; a cut attempt always is, after an `attempt-reset` that says `crash`.
// K2. A call that returned is answered from its stored result; the tool is not run (E-532). What was dispatched and never
//     came back is judged where calls are prepared: `prepare-batch.ts`.

import { answerReturned } from '../core/closing.ts';
import { resetAttempt } from './react.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { RunState } from '../core/run-state.ts';

export function recover(state: RunState, nowMs: number): readonly EventDraft[] {
  const { open } = state;
  if (open === null || state.result !== null) return [];
  switch (open.stage.at) {
    case 'calling':
      return [resetAttempt(state, { reason: 'crash', retryInMs: 0 })];
    case 'backoff':
      // A wait that has passed counts as a begun attempt; one that still runs is waited out (E-214).
      return open.stage.untilMs <= nowMs ? [resetAttempt(state, { reason: 'crash', retryInMs: 0 })] : [];
    case 'accepted':
      return open.calls.flatMap((entry) =>
        entry.progress.at === 'returned' ? [answerReturned(state, entry, entry.progress)] : [],
      );
  }
}
