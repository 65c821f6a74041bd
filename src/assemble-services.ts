// What servers and runtimes are alike in: the parts of a process over a store, and what it does from time to time.

import { createBackgroundRuns } from './tasks/background-runs.ts';
import { createFrameFeeds } from './tasks/frame-feeds.ts';
import { createOwnership, type OwnershipPolicy } from './tasks/ownership.ts';
import { createRunLog } from './stores/run-log.ts';
import { createRunSlots, type SlotBounds } from './tasks/run-slots.ts';
import { hearCancels } from './tasks/hear-cancels.ts';
import { expireTasks } from './tasks/expire-tasks.ts';
import { repeat, type Repeated } from './tasks/repeat.ts';
import { sweepFiles } from './tasks/delete-session.ts';
import { superviseRuns } from './tasks/supervise-runs.ts';
import { systemProcesses, systemRandom } from './system.ts';
import type { Services } from './tasks/services.ts';

const superviseEveryMs = 1_000;
const expireEveryMs = 60_000;
const sweepEveryMs = 3_600_000;

type Given = Pick<
  Services,
  | 'store'
  | 'clock'
  | 'logger'
  | 'harnesses'
  | 'workspaces'
  | 'files'
  | 'uploads'
  | 'settings'
  | 'agentTurns'
  | 'scheduler'
>;

/** @param slots  Absent: each task begins at once. */
export function assembleServices({
  policy = {},
  slots = { concurrent: null, queued: 0 },
  onCommit,
  ...given
}: Given & {
  readonly policy?: Partial<OwnershipPolicy>;
  readonly slots?: SlotBounds;
  readonly onCommit?: ((tookMs: number) => void) | undefined;
}): Services {
  const { store, clock, logger } = given;
  const log = createRunLog({ store, clock, logger, onCommit });
  const owner = systemRandom.token();
  return {
    ...given,
    log,
    random: systemRandom,
    runs: createBackgroundRuns({ clock, logger, slots: createRunSlots(slots) }),
    frames: createFrameFeeds(log),
    owner,
    ownership: createOwnership({ store, clock, owner, processes: systemProcesses, policy }),
  };
}

/** @param firstScan  The first look at all runs, where that is still under way; it belongs to what this gives from now on. */
export function startUpkeep(services: Services, firstScan?: Promise<void>): Repeated {
  const { clock, logger } = services;
  const failed = (message: string) => (cause: unknown) => logger.error(message, {}, cause);
  const scanFailed = failed('The scan of runs failed.');
  const scanned = firstScan?.catch(scanFailed);
  const supervise = async () => {
    await scanned; // two scans at once would be in each other's way
    await superviseRuns(services);
  };
  const leftovers = services.uploads?.sweep(clock.now(), async (id) => (await services.store.file(id)) !== null);
  const swept = leftovers?.catch(failed('What is left of uploads could not be removed.'));
  const sweepFailed = failed('Files of sessions that are gone could not be removed.');
  // A server that is started again every few minutes never comes to the first round.
  const firstSweep = sweepFiles(services).catch(sweepFailed);
  const rounds = [
    repeat(clock, { everyMs: superviseEveryMs, work: supervise, onFailure: scanFailed }),
    keepLease(services, failed('Others cannot be told that this process lives.')),
    repeat(clock, {
      everyMs: expireEveryMs,
      work: (signal) => expireTasks(services, signal),
      onFailure: failed('Retention failed.'),
    }),
    repeat(clock, {
      everyMs: sweepEveryMs,
      work: () => sweepFiles(services),
      onFailure: sweepFailed,
    }),
  ];
  const deafen = hearCancels(services);
  return {
    async stop() {
      deafen();
      await Promise.all([scanned, swept, firstSweep, ...rounds.map((each) => each.stop())]);
    },
  };
}

/** Who cannot say for long that it lives is about to be robbed: it stops what it does, and aborts its calls, before (E-825). */
function keepLease({ clock, ownership, runs }: Services, onFailure: (cause: unknown) => void): Repeated {
  const { leaseMs, renewEveryMs } = ownership.policy;
  return repeat(clock, {
    everyMs: renewEveryMs,
    work: () => ownership.renew(),
    onFailure(cause) {
      onFailure(cause);
      if (ownership.silentMs() >= leaseMs / 2) for (const runId of runs.running()) runs.stop(runId, 'shutdown');
    },
  });
}
