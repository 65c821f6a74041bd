// Nothing stays in progress by mistake: runs that no living owner works on are taken over, and go on from their logs or end
// with an honest error (UD-60, E-830).
//
// V1. What is at work here is reserved before it is taken: a process never takes the same run twice.
// V4. What was taken from this process is left at once: its calls are aborted, its late words refused (E-827).
// V8. Work that a fault broke off is not taken up again at once, and ever later.
//
// What is left for whom: `take-over.ts`, V3 and V7; how a run becomes this process's: `take-here.ts`, V2, V5 and V6.

import { mustWait } from './must-wait.ts';
import { pauseAgain } from './take-here.ts';
import { takeOver } from './take-over.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';
import type { UnfinishedRun } from '../stores/store.ts';

/** A run that this process admitted and that is not at work after so long was left by a failure of the store. */
const leftBehindAfterMs = 5_000;

/**
 * Takes over what has no owner and starts it. Called before the port opens, and each second after. One run that cannot be
 * taken over hinders no other. Gives the number of runs taken over.
 */
export async function recoverRuns(services: Services): Promise<number> {
  const { runs, store, log, ownership } = services;
  const open = await store.unfinishedRuns();
  // Asked after: who admits a run has said before that it lives.
  const living = await ownership.living();
  await leaveLost(services, open);
  const left = new Set<RunId>();
  for (const run of open) {
    // What was asked for elsewhere, or in the instant of admission, has set the flag and found nobody to tell.
    if (run.control === 'cancel') runs.stop(run.runId, 'cancel');
    if (runs.isRunning(run.runId)) log.meet(run.runId, run.lastSeq);
    if (run.control === 'pause') await pauseHere(services, run.runId);
  }
  const isAlone = (run: UnfinishedRun) => !isAtWork(services, run, living) && !mustWait(run) && !runs.rests(run.runId);
  const alone = runs.isLeaving ? [] : open.filter(isAlone);
  const elsewhere = await services.scheduler?.tend(alone.filter(({ control }) => control !== 'cancel'));
  let taken = 0;
  for (const run of alone) {
    if (elsewhere?.has(run.runId) === true || runs.isLeaving || runs.isRunning(run.runId)) continue;
    left.add(run.runId);
    try {
      if (!(await takeOver(services, run))) continue;
      taken += 1;
      if (run.control === 'pause') await pauseAgain(services, run.runId);
    } catch (cause) {
      services.logger.error('A run cannot be taken over.', { runId: run.runId }, cause);
    }
  }
  for (const runId of ownership.agentless.keys()) if (!left.has(runId)) ownership.agentless.delete(runId);
  return taken;
}

/** Of now: since it was seen, the run may have parked and been resumed. */
async function pauseHere({ runs, store, owner }: Services, runId: RunId): Promise<void> {
  if (!runs.isRunning(runId)) return;
  const run = await store.run(runId);
  if (run?.control === 'pause' && run.phase === 'active' && run.owner === owner) runs.pause(runId);
}

/** Stops what goes on here and is another's by now, or was ended by another (V4). */
async function leaveLost({ runs, store, owner, logger }: Services, open: readonly UnfinishedRun[]): Promise<void> {
  const mine = new Set(open.flatMap((run) => (run.owner === owner ? [run.runId] : [])));
  for (const runId of runs.running()) {
    if (mine.has(runId)) continue;
    const run = await store.run(runId);
    if (run === null || run.owner === owner || (run.owner === null && run.status === 'running')) continue;
    if (run.owner !== null) logger.warn('Another process has taken over a run of this one.', { runId });
    runs.stop(runId, 'shutdown');
  }
}

function isAtWork({ runs, owner, clock }: Services, run: UnfinishedRun, living: ReadonlySet<string>): boolean {
  if (runs.isRunning(run.runId)) return true;
  if (run.owner === owner) return clock.now() - run.createdAtMs < leftBehindAfterMs;
  return run.owner !== null && living.has(run.owner);
}
