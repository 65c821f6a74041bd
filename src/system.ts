// The real clock, randomness and log of one process: the only place where they are made (E-011).

import { randomFillSync } from 'node:crypto';
import { inspect } from 'node:util';
import type { Clock } from './core/clock.ts';
import type { JsonObject } from './core/json.ts';
import type { Logger } from './core/logger.ts';
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

/** One JSON object a line on stderr. */
export const stderrLogger: Logger = {
  info: (message, facts) => writeLine('info', message, facts),
  warn: (message, facts) => writeLine('warn', message, facts),
  error: (message, facts, cause) => writeLine('error', message, { ...facts, ...describeCause(cause) }),
};

function writeLine(level: string, message: string, facts: JsonObject = {}): void {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), level, message, ...facts })}\n`);
}

/** The chain of causes by their stacks. Other properties stay out: provider clients put whole prompts into theirs. */
function describeCause(cause: unknown): JsonObject {
  if (cause === undefined) return {};
  const chain: string[] = [];
  let current: unknown = cause;
  for (let depth = 0; depth < 6 && current !== undefined; depth++) {
    chain.push(current instanceof Error ? (current.stack ?? current.message) : inspect(current, { depth: 2 }));
    current = current instanceof Error ? current.cause : undefined;
  }
  return { cause: chain.join('\ncaused by: ') };
}
