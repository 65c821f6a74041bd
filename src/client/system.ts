import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';

/** `setTimeout` fires at once for anything longer (2^31 - 1 ms). */
const longestTimerMs = 2_147_483_647;

export const clientClock: Clock = {
  now: () => Date.now(),
  timer(ms, callback) {
    const handle = setTimeout(callback, Math.min(Math.max(ms, 0), longestTimerMs));
    return () => clearTimeout(handle);
  },
};

export const clientRandom: Random = {
  fraction: () => Math.random(),
  // Not `crypto.randomUUID`: browsers have that on secure pages only, and a console may be served on a plain local network.
  token() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  },
};
