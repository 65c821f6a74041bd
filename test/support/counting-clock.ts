import { systemClock } from '../../src/system.ts';
import type { Clock } from '../../src/core/clock.ts';

/** The real clock, and how many of its timers are running. */
export function countingClock(): Clock & { open(): number } {
  const running = new Set<object>();
  return {
    now: () => systemClock.now(),
    timer(ms, callback) {
      const own = {};
      running.add(own);
      const cancel = systemClock.timer(ms, () => {
        running.delete(own);
        callback();
      });
      return () => {
        running.delete(own);
        cancel();
      };
    },
    open: () => running.size,
  };
}
