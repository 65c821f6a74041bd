// The real clock, randomness and neighbours of one process: the only place where they are made (E-011).

import { lookAtProcess, thisProcess } from './process/process-identity.ts';
import { randomFillSync } from 'node:crypto';
import type { Clock } from './core/clock.ts';
import type { Processes } from './tasks/ownership.ts';
import type { Random } from './core/random.ts';

/** `setTimeout` fires at once for anything longer (2^31 - 1 ms, 24 days), and complains about a moment that has passed. */
const longestTimerMs = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  timer(ms, callback) {
    const handle = setTimeout(callback, Math.min(Math.max(ms, 0), longestTimerMs));
    return () => clearTimeout(handle);
  },
};

const tokenBytes = 16;
// Filled for many tokens at once: asking the system for each was a tenth of what a small answer costs.
const pool = Buffer.alloc(256 * tokenBytes);
let used = pool.length;

export const systemRandom: Random = {
  fraction: () => Math.random(),
  token() {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    used += tokenBytes;
    return pool.toString('hex', used - tokenBytes, used);
  },
};

export const systemProcesses: Processes = { self: thisProcess(), look: (other) => lookAtProcess(other) };
