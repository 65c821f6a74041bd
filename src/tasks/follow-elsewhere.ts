// The events of runs that other processes work on, for a feed of many runs: each one that the store tells of is followed by its
// log. A run that is at work here is left to whoever publishes it.

import type { HarnessId, RunId } from '../core/ids.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Services } from './services.ts';

export interface Elsewhere extends AsyncDisposable {
  /** From now on; of these runs it is known that they have not ended. */
  listen(open: Iterable<RunId>): void;
  /** It is over: whatever is told of it is not looked at. */
  settle(runId: RunId): void;
}

export interface ElsewhereOptions {
  readonly harnessId: HarnessId;
  /** The last event that there is of a run. */
  after(runId: RunId): number;
  receive(runId: RunId, events: readonly RunEvent[]): void;
}

/** Runs that are over, or another harness's; who is forgotten was told of long ago. */
const mostSettled = 10_000;

export function followElsewhere({ store, log, runs, logger }: Services, o: ElsewhereOptions): Elsewhere {
  const following = new Map<RunId, Promise<void>>();
  const settled = new Set<RunId>();
  const leaving = new AbortController();
  let deafen: (() => void) | undefined;

  function settle(runId: RunId): void {
    settled.add(runId);
    const [oldest] = settled;
    if (settled.size > mostSettled && oldest !== undefined) settled.delete(oldest);
  }

  async function follow(runId: RunId): Promise<void> {
    try {
      const run = await store.run(runId);
      if (run?.harnessId === o.harnessId)
        for await (const events of log.follow(runId, { after: o.after(runId), signal: leaving.signal }))
          o.receive(runId, events);
      settle(runId);
    } catch (cause) {
      logger.warn('A run of another process could not be followed.', { runId, cause: String(cause) });
    }
  }

  function look(runId: RunId): void {
    if (following.has(runId) || settled.has(runId) || runs.isRunning(runId) || leaving.signal.aborted) return;
    following.set(
      runId,
      follow(runId).finally(() => following.delete(runId)),
    );
  }

  return {
    listen(open) {
      deafen = store.onNews?.((runId) => {
        if (runId !== null) look(runId);
      });
      for (const runId of open) look(runId);
    },
    settle,
    async [Symbol.asyncDispose]() {
      deafen?.();
      leaving.abort();
      await Promise.all(following.values());
    },
  };
}
