import type { Clock } from '../core/clock.ts';

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** Moves time on by `ms`, firing due timers in order; promises settle between two of them. */
  advance(ms: number): Promise<void>;
  /** Timers that have not fired yet: a leak shows here. */
  readonly pending: number;
}

export function createManualClock(startMs = 1_786_400_000_000): ManualClock {
  let nowMs = startMs;
  let order = 0;
  const timers = new Map<number, { dueMs: number; callback: () => void }>();
  const nextDue = (untilMs: number) => {
    const due = [...timers].filter(([, { dueMs }]) => dueMs <= untilMs);
    return due.toSorted(([idA, a], [idB, b]) => a.dueMs - b.dueMs || idA - idB)[0];
  };
  return {
    now: () => nowMs,
    timer(ms, callback) {
      const id = order++;
      timers.set(id, { dueMs: nowMs + Math.max(0, ms), callback });
      return () => void timers.delete(id);
    },
    async advance(ms) {
      const untilMs = nowMs + ms;
      await settle();
      for (let next = nextDue(untilMs); next !== undefined; next = nextDue(untilMs)) {
        const [id, { dueMs, callback }] = next;
        timers.delete(id);
        nowMs = dueMs;
        callback();
        await settle();
      }
      nowMs = untilMs;
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Lets everything run that only waits for promises or for the event loop to come round. */
async function settle(): Promise<void> {
  for (let round = 0; round < 3; round++) await new Promise((resolve) => setImmediate(resolve));
}
