// A run that no living owner works on becomes this process's: to be worked on, one stretch of it, or to be ended.
//
// V2. It is taken as it was seen: of many who find it left one gets it (E-825).
// V5. A run that was attached to a call of its owner is ended: who waited for it is gone.
// V6. What a harness kept for a run that waited is gone before the run ends, or named in its result (H-060).

import { configOf } from './config-of.ts';
import { executeRun } from './execute-run.ts';
import { endParked } from './end-parked.ts';
import { endRun } from './end-run.ts';
import type { Ending } from '../core/closing.ts';
import type { RunErrorType } from '../core/outcome.ts';
import type { RunState } from '../core/run-state.ts';
import type { RunId } from '../core/ids.ts';
import type { RunRecord, UnfinishedRun } from '../stores/store.ts';
import type { RunSlot } from './run-slots.ts';
import type { Services } from './services.ts';

/** A run as it was seen; without `control` it is none that shall be cancelled. */
export type SeenRun = Pick<UnfinishedRun, 'runId' | 'owner' | 'phase'> &
  Partial<Pick<UnfinishedRun, 'control' | 'generation'>>;

const takeoverWindowMs = 3_600_000;
const maxTakeovers = 10;

/** What a run is taken for: all that is left to do, one stretch of it by somebody who schedules it, or its end. */
export type Purpose =
  | { readonly do: 'work' }
  | { readonly do: 'stretch'; readonly leg: 'same' | 'next'; leaveBefore(state: RunState): boolean }
  | { readonly do: 'end'; readonly ending: Ending };

/**
 * Makes the run this process's and starts it, whoever schedules it; false when it is at work here, over, or not any more as it
 * was seen.
 */
export async function takeHere(services: Services, seen: SeenRun, purpose: Purpose): Promise<boolean> {
  const taken = Promise.withResolvers<boolean>();
  const started = services.runs.start(seen.runId, async (signals) => {
    const claim = await claimRun(services, seen, purpose).catch((cause: unknown) => {
      taken.reject(cause);
      return null;
    });
    taken.resolve(claim !== null);
    if (claim === null) return;
    const { run, ending } = claim;
    if (ending !== null)
      return endRun(
        services,
        run,
        await endParked(services, { run, config: await configOf(services, run.runId), ending }),
      );
    // Who was stopped in order has let go of it (E-834); a worker that is lost is seen to be by its scheduler (E-876).
    const leftBy = seen.owner === null || purpose.do === 'stretch' ? 'worker-lost' : 'crash';
    if (purpose.do !== 'stretch')
      return executeRun(services, { run, continues: true, leftBy, slot: slotOf(services, run), ...signals });
    if (seen.control === 'pause') await pauseAgain(services, run.runId);
    if (seen.control === 'cancel') services.runs.stop(run.runId, 'cancel');
    const stretch = { leaveBefore: (state: RunState) => purpose.leaveBefore(state), slot: null };
    await executeRun(services, { run, continues: purpose.leg === 'next', leftBy, ...stretch, ...signals });
  });
  return started && taken.promise;
}

/** Nobody waits for a place who is waited for. */
function slotOf({ runs }: Services, { parentRunId }: RunRecord): RunSlot | null {
  return parentRunId === null ? runs.slots.takeAgain() : null;
}

interface Claim {
  readonly run: RunRecord;
  /** Null: it goes on. */
  readonly ending: Ending | null;
}

async function claimRun(services: Services, { runId, ...seen }: SeenRun, purpose: Purpose): Promise<Claim | null> {
  const { store, clock, logger, ownership } = services;
  await ownership.present();
  const run = await store.takeOver(runId, services.owner, seen);
  if (run === null) return null;
  const goesOn = purpose.do === 'stretch' && purpose.leg === 'same';
  if (goesOn) return { run, ending: null };
  const nowMs = clock.now();
  // An owner that was shut down in order has let go of its runs, and so has one that parked: no sign of a run that brings
  // servers down.
  const since = { nowMs, sinceMs: nowMs - takeoverWindowMs };
  const takeovers = seen.owner === null ? 0 : await store.countTakeover(runId, since);
  if (seen.owner === null) logger.info('A run goes on.', { runId });
  else logger.info('A run is taken over.', { runId, takeovers });
  const isOrphan = (await configOf(services, runId))?.attached !== undefined;
  return { run, ending: isOrphan ? { status: 'cancelled' } : endingAtOnce(run, purpose, takeovers) };
}

/** Who takes a run over means to work on it; here somebody had asked for a pause that its last owner did not come to. */
export async function pauseAgain({ store, runs }: Services, runId: RunId): Promise<void> {
  await store.requestPause(runId);
  runs.pause(runId);
}

/** A cancel that was accepted stands; a run that brings its process down again and again is given up (E-832). */
function endingAtOnce({ control }: RunRecord, purpose: Purpose, takeovers: number): Ending | null {
  if (control === 'cancel') return { status: 'cancelled' };
  if (purpose.do === 'end') return purpose.ending;
  if (takeovers <= maxTakeovers) return null;
  return givenUp('RecoveryExhaustedError', 'The work on this task was broken off too often; it was given up.');
}

export function givenUp(type: RunErrorType, message: string): Ending {
  return { status: 'failed', error: { type, message, retryable: false } };
}
