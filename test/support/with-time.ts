import { setTimeout as pause } from 'node:timers/promises';
import type { ManualClock } from '../../src/testing/manual-clock.ts';

/** Time passes in steps, with turns for real sockets between them, until it is there. */
export async function withTime<T>(pending: Promise<T>, clock: ManualClock, stepMs: number): Promise<T> {
  const waiting = Symbol('waiting');
  for (;;) {
    const settled = await Promise.race([pending, pause(2, waiting)]);
    if (settled !== waiting) return settled;
    await clock.advance(stepMs);
  }
}
