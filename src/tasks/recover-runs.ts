// Nothing stays in progress by mistake: runs that no living owner works on are taken over, and go on from their logs or end
// with an honest error (UD-60, E-830).

import type { Ending } from '../core/closing.ts';
import { endRun, executeRun } from './execute-run.ts';
import type { RunId } from '../core/ids.ts';
import type { RunRecord, UnfinishedRun } from '../stores/store.ts';
import type { Services } from './services.ts';

type TakenRun = Pick<UnfinishedRun, 'runId' | 'owner' | 'phase'>;

/** A run that this process admitted and that is not at work after so long was left by a failure of the store. */
const leftBehindAfterMs = 5_000;
const takeoverWindowMs = 3_600_000;
const maxTakeovers = 10;

/**
 * Takes over what has no owner and starts it. Called before the port opens, and each second after. One run that cannot be
 * taken over hinders no other. Gives the number of runs taken over.
 */
export async function recoverRuns(services: Services): Promise<number> {
  let taken = 0;
  for (const run of await services.store.unfinishedRuns()) {
    // What was asked for elsewhere, or in the instant of admission, has set the flag and found nobody to tell.
    if (run.control === 'cancel') services.runs.stop(run.runId, 'cancel');
    if (run.control === 'pause') services.runs.pause(run.runId);
    if (services.runs.isRunning(run.runId) || isBeingAdmitted(services, run) || mustWait(run)) continue;
    try {
      if (!(await takeOver(services, run))) continue;
      taken += 1;
      if (run.control === 'pause') await pauseAgain(services, run.runId);
    } catch (cause) {
      services.logger.error('A run cannot be taken over.', { runId: run.runId }, cause);
    }
  }
  return taken;
}

/** A parked run goes on once nothing is open any more and no pause holds it, or to be cancelled (E-601). */
function mustWait({ phase, control, openApprovals }: UnfinishedRun): boolean {
  if (control === 'cancel') return false;
  return phase === 'paused' || (phase === 'waiting' && (openApprovals > 0 || control === 'pause'));
}

/** Who takes a run over means to work on it; here somebody had asked for a pause that its last owner did not come to. */
async function pauseAgain({ store, runs }: Services, runId: RunId): Promise<void> {
  await store.requestPause(runId);
  runs.pause(runId);
}

function isBeingAdmitted({ owner, clock }: Services, run: UnfinishedRun): boolean {
  return run.owner === owner && clock.now() - run.createdAtMs < leftBehindAfterMs;
}

/** Makes the run this process's and starts it; false when it is another's, over, or not in that phase any more. */
export async function takeOver(services: Services, { runId, owner, phase }: TakenRun): Promise<boolean> {
  const run = await services.store.takeOver(runId, services.owner, phase);
  if (run === null) return false;
  const nowMs = services.clock.now();
  // An owner that was shut down in order has let go of its runs, and so has one that parked: no sign of a run that brings
  // servers down.
  const since = { nowMs, sinceMs: nowMs - takeoverWindowMs };
  const takeovers = owner === null ? 0 : await services.store.countTakeover(runId, since);
  const ending = endingAtOnce(run, takeovers);
  services.logger.info('A run is taken over.', { runId, takeovers });
  services.runs.start(runId, (signals) =>
    ending === null ? executeRun(services, { run, continues: true, ...signals }) : endRun(services, run, ending),
  );
  return true;
}

/** A cancel that was accepted stands; a run that brings its process down again and again is given up (E-832). */
function endingAtOnce({ control }: RunRecord, takeovers: number): Ending | null {
  if (control === 'cancel') return { status: 'cancelled' };
  if (takeovers <= maxTakeovers) return null;
  const message = 'The server stopped too often while this task ran; it was given up.';
  return { status: 'failed', error: { type: 'RecoveryExhaustedError', message, retryable: false } };
}
