// Every run in this process has an owner here: its failure is noticed, it can be stopped, and a shutdown waits for it.

import { StopTurn } from '../core/stop-turn.ts';
import type { Logger } from '../core/logger.ts';
import type { RunId } from '../core/ids.ts';

export interface BackgroundRuns {
  /** Starts the work of one run; `work` may not be running already. A rejection is logged, never lost. */
  start(runId: RunId, work: (signal: AbortSignal) => Promise<void>): void;
  /** Asks the run to stop. False when it does not run here. */
  stop(runId: RunId, how: StopTurn['how']): boolean;
  isRunning(runId: RunId): boolean;
  /** Resolves when the run's work is over; at once when it does not run here. */
  ended(runId: RunId): Promise<void>;
  readonly size: number;
  /** Stops all and waits for them (E-834). Nothing can be started afterwards. */
  drain(): Promise<void>;
}

export function createBackgroundRuns(logger: Logger): BackgroundRuns {
  const running = new Map<RunId, { controller: AbortController; done: Promise<void> }>();
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
    stop,
    isRunning: (runId) => running.has(runId),
    ended: async (runId) => running.get(runId)?.done,
    get size() {
      return running.size;
    },
    async drain() {
      draining = true;
      for (const runId of running.keys()) stop(runId, 'shutdown');
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}
