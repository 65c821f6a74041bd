// Every run in this process has an owner here: its failure is noticed, it can be stopped, and a shutdown waits for it.

import type { Clock } from '../core/clock.ts';
import { StopTurn } from '../core/stop-turn.ts';
import { within } from '../core/within.ts';
import type { CompactionRequests } from '../harnesses/harness.ts';
import type { Logger } from '../core/logger.ts';
import { createRunSlots, type RunSlots } from './run-slots.ts';
import type { RunId } from '../core/ids.ts';

/** How the work on a run hears that it has to end. */
export interface RunSignals {
  /** Aborts when it must stop; the reason is a `StopTurn`. */
  readonly signal: AbortSignal;
  /** Aborts when it shall be parked once what runs has ended. */
  readonly pause: AbortSignal;
  /** Requests to shorten the conversation before the next step. */
  readonly compactions: CompactionRequests;
}

export interface BackgroundRuns {
  /** Where tasks wait for their turn. */
  readonly slots: RunSlots;
  /** Starts the work of one run; false when it is at work already, or everything has been stopped. A rejection is logged. */
  start(runId: RunId, work: (signals: RunSignals) => Promise<void>): boolean;
  /** Work behind a run, such as a harness that closes its session. A rejection is logged; a shutdown waits for it, not for ever. */
  cleanUp(runId: RunId, work: () => Promise<unknown>): void;
  /** Asks the run to stop. False when it does not run here. */
  stop(runId: RunId, how: StopTurn['how']): boolean;
  pause(runId: RunId): boolean;
  /** Asks for a shorter conversation before the next step; false when the run is not at work here. */
  compact(runId: RunId, request: { readonly instructions?: string }): boolean;
  isRunning(runId: RunId): boolean;
  /** A fault broke the work on it off here, a short while ago; ever longer, up to a minute, where that happens again. */
  rests(runId: RunId): boolean;
  /** The runs that are at work here. */
  running(): readonly RunId[];
  /** Resolves when the run's work is over; at once when it does not run here. */
  ended(runId: RunId): Promise<void>;
  /** What comes is still let in, for as long as others take to hear that this process goes (E-834). */
  leave(): void;
  /** From the call of `leave`, or `drain`: nothing is taken up here that could be elsewhere. */
  readonly isLeaving: boolean;
  /** Lets what is at work end, so long; then stops the rest and waits for it, for clean-ups not for ever (E-834). */
  drain(options?: { readonly withinMs?: number; readonly how?: 'shutdown' | 'cancel' }): Promise<void>;
  /** From the call of `drain`: what is here may go on and start what it needs; nothing else is to be begun. */
  readonly isDraining: boolean;
}

/** How long a shutdown waits for clean-ups. */
const cleanUpMs = 5_000;

const firstRestMs = 1_000;
const longestRestMs = 60_000;

interface Rest {
  readonly waitMs: number;
  readonly untilMs: number;
}

interface RunningWork {
  readonly stop: AbortController;
  readonly pause: AbortController;
  compaction: { readonly instructions?: string } | null;
  readonly done: Promise<void>;
}

/** @param slots  Absent: each task begins at once. */
export function createBackgroundRuns({
  clock,
  logger,
  slots = createRunSlots({ concurrent: null, queued: 0 }),
}: {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly slots?: RunSlots;
}): BackgroundRuns {
  const running = new Map<RunId, RunningWork>();
  const cleaning = new Set<Promise<void>>();
  let state: 'open' | 'leaving' | 'draining' | 'stopped' = 'open';
  const resting = new Map<RunId, Rest>();
  const rest = (runId: RunId): Rest => {
    const nowMs = clock.now();
    for (const [other, { untilMs }] of resting) if (untilMs + longestRestMs * 10 < nowMs) resting.delete(other);
    const waitMs = Math.min((resting.get(runId)?.waitMs ?? firstRestMs / 2) * 2, longestRestMs);
    const until = { waitMs, untilMs: nowMs + waitMs };
    resting.set(runId, until);
    return until;
  };
  const stopRun = (runId: RunId, how: StopTurn['how']) => {
    running.get(runId)?.stop.abort(new StopTurn(how));
    return running.has(runId);
  };
  return {
    slots,
    start(runId, work) {
      if (state === 'stopped' || running.has(runId)) return false;
      const [stop, pause] = [new AbortController(), new AbortController()];
      const take = () => {
        const entry = running.get(runId);
        const request = entry?.compaction ?? null;
        if (entry !== undefined) entry.compaction = null;
        return request;
      };
      const done = work({ signal: stop.signal, pause: pause.signal, compactions: { take } })
        .then(
          () => void resting.delete(runId),
          (cause: unknown) => {
            const { waitMs } = rest(runId);
            logger.error('A run was left by its owner.', { runId, waitMs }, cause);
          },
        )
        .finally(() => running.delete(runId));
      running.set(runId, { stop, pause, compaction: null, done });
      return true;
    },
    cleanUp(runId, work) {
      const done: Promise<void> = work()
        .then(() => {})
        .catch((cause: unknown) =>
          logger.warn('Something that was to be done for a run failed.', { runId, cause: String(cause) }),
        )
        .finally(() => cleaning.delete(done));
      cleaning.add(done);
    },
    stop: stopRun,
    pause(runId) {
      running.get(runId)?.pause.abort();
      return running.has(runId);
    },
    compact(runId, request) {
      const entry = running.get(runId);
      if (entry !== undefined) entry.compaction = request;
      return entry !== undefined;
    },
    isRunning: (runId) => running.has(runId),
    rests: (runId) => (resting.get(runId)?.untilMs ?? 0) > clock.now(),
    running: () => [...running.keys()],
    ended: async (runId) => running.get(runId)?.done,
    leave() {
      if (state === 'open') state = 'leaving';
    },
    get isLeaving() {
      return state !== 'open';
    },
    get isDraining() {
      return state === 'draining' || state === 'stopped';
    },
    async drain({ withinMs = 0, how = 'shutdown' } = {}) {
      state = 'draining';
      if (withinMs > 0) await within(emptied(), { clock, ms: withinMs });
      state = 'stopped';
      for (const runId of running.keys()) stopRun(runId, how);
      await emptied();
      await within(Promise.all(cleaning), { clock, ms: cleanUpMs });
    },
  };

  /** What is at work may start more. */
  async function emptied(): Promise<void> {
    while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done));
  }
}
