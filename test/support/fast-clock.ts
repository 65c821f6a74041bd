import { systemClock } from '../../src/system.ts';
import type { Clock } from '../../src/core/clock.ts';

/** The system's clock, running `factor` times as fast: waits that stand between real sockets, as a retry's, get short. */
export function createFastClock(factor: number): Clock {
  const startMs = systemClock.now();
  return {
    now: () => startMs + (systemClock.now() - startMs) * factor,
    timer: (ms, callback) => systemClock.timer(ms / factor, callback),
  };
}
