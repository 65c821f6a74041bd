// Nothing stays in progress by mistake: runs that no living owner works on are taken over, and go on from their logs or end
// with an honest error (UD-60, E-830).

import type { Ending } from '../core/closing.ts';
import { endRun, executeRun } from './execute-run.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/** A run that this process admitted and that is not at work after so long was left by a failure of the store. */
const leftBehindAfterMs = 5_000;
const takeoverWindowMs = 3_600_000;
const maxTakeovers = 10;
const scanEveryMs = 1_000;

/**
 * Takes over what has no owner and starts it. Called before the port opens, and each second after.
 * Gives the number of runs taken over.
 */
export async function recoverRuns(services: Services): Promise<number> {
  let taken = 0;
  for (const run of await services.store.unfinishedRuns()) {
    // A cancel that was accepted elsewhere, or in the instant of admission, has set the flag and found nobody to stop.
    if (run.control === 'cancel') services.runs.stop(run.runId, 'cancel');
    if (services.runs.isRunning(run.runId) || isBeingAdmitted(services, run)) continue;
    const mine = await services.store.takeOver(run.runId, services.owner);
    if (mine === null) continue;
    taken += 1;
    await resume(services, mine);
  }
  return taken;
}

function isBeingAdmitted({ owner, clock }: Services, run: RunRecord): boolean {
  return run.owner === owner && clock.now() - run.createdAtMs < leftBehindAfterMs;
}

async function resume(services: Services, run: RunRecord): Promise<void> {
  const nowMs = services.clock.now();
  const takeovers = await services.store.countTakeover(run.runId, { nowMs, sinceMs: nowMs - takeoverWindowMs });
  const ending = endingAtOnce(run, takeovers);
  services.logger.info('A run is taken over.', { runId: run.runId, takeovers });
  services.runs.start(run.runId, (signal) =>
    ending === null ? executeRun(services, { run, signal, recovering: true }) : endRun(services, run, ending),
  );
}

/** A cancel that was accepted stands; a run that brings its process down again and again is given up (E-832). */
function endingAtOnce({ control }: RunRecord, takeovers: number): Ending | null {
  if (control === 'cancel') return { status: 'cancelled' };
  if (takeovers <= maxTakeovers) return null;
  const message = 'The server stopped too often while this task ran; it was given up.';
  return { status: 'failed', error: { type: 'AgentUnavailableError', message, retryable: false } };
}

/** Scans each second until `stop`, which waits for a scan under way. */
export function startRecoveryScan(services: Services): { stop(): Promise<void> } {
  let stopped = false;
  let scanning: Promise<unknown> = Promise.resolve();
  let cancel = () => {};
  const arm = () => {
    cancel = services.clock.timer(scanEveryMs, () => {
      scanning = recoverRuns(services)
        .catch((cause: unknown) => services.logger.error('The recovery scan failed.', {}, cause))
        .finally(() => {
          if (!stopped) arm();
        });
    });
  };
  arm();
  return {
    async stop() {
      stopped = true;
      cancel();
      await scanning;
    },
  };
}
