// Every run in this process has an owner here: its failure is noticed, it can be stopped, and a shutdown waits for it.

import { sleep, type Clock } from '../core/clock.ts';
import { StopTurn } from '../core/stop-turn.ts';
import type { Logger } from '../core/logger.ts';
import type { RunId } from '../core/ids.ts';

export interface BackgroundRuns {
  /** Starts the work of one run; does nothing when it is at work already, or after `drain`. A rejection is logged. */
  start(runId: RunId, work: (signal: AbortSignal) => Promise<void>): void;
  /** Work that outlives its run, such as a harness that closes its session. A shutdown waits for it as well. */
  cleanUp(runId: RunId, work: () => Promise<unknown>): void;
  /** Asks the run to stop. False when it does not run here. */
  stop(runId: RunId, how: StopTurn['how']): boolean;
  isRunning(runId: RunId): boolean;
  /** Resolves when the run's work is over; at once when it does not run here. */
  ended(runId: RunId): Promise<void>;
  /** Stops all and waits for them; for clean-ups not for ever (E-834). Nothing can be started afterwards. */
  drain(how?: 'shutdown' | 'cancel'): Promise<void>;
}

/** How long a shutdown waits for clean-ups. */
const cleanUpMs = 5_000;

export function createBackgroundRuns({ clock, logger }: { clock: Clock; logger: Logger }): BackgroundRuns {
  const running = new Map<RunId, { readonly controller: AbortController; readonly done: Promise<void> }>();
  const cleaning = new Set<Promise<void>>();
  let draining = false;
  const stop = (runId: RunId, how: StopTurn['how']) => {
    running.get(runId)?.controller.abort(new StopTurn(how));
    return running.has(runId);
  };
  return {
    start(runId, work) {
      if (draining || running.has(runId)) return;
      const controller = new AbortController();
      const done = work(controller.signal)
        .catch((cause: unknown) => logger.error('A run was left by its owner.', { runId }, cause))
        .finally(() => running.delete(runId));
      running.set(runId, { controller, done });
    },
    cleanUp(runId, work) {
      const done: Promise<void> = work()
        .then(() => {})
        .catch((cause: unknown) => logger.warn('A harness failed to clean up.', { runId, cause: String(cause) }))
        .finally(() => cleaning.delete(done));
      cleaning.add(done);
    },
    stop,
    isRunning: (runId) => running.has(runId),
    ended: async (runId) => running.get(runId)?.done,
    async drain(how = 'shutdown') {
      draining = true;
      for (const runId of running.keys()) stop(runId, how);
      await Promise.all([...running.values()].map(({ done }) => done));
      const waited = new AbortController();
      await Promise.race([Promise.all(cleaning), sleep(clock, cleanUpMs, waited.signal)]);
      waited.abort();
    },
  };
}
