import { ConnectionError, RateLimitError, ServerError, TimeoutError, type UhpError } from './errors.ts';
import { pause } from './settle-within.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';

export interface Patience {
  readonly clock: Clock;
  readonly random: Random;
  /** Tries of one thing, the first included. */
  readonly maxAttempts: number;
  /** Before the second try; doubled for each one after it. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
}

/** Whether another try may end better (U-057). 501 is an answer for good. */
export function isTransient(error: unknown): error is UhpError {
  return isUnclear(error) || error instanceof RateLimitError;
}

/** Whether the server may have done what was asked, though it did not say so. */
export function isUnclear(error: unknown): boolean {
  if (error instanceof ServerError) return error.status !== 501;
  return error instanceof ConnectionError || error instanceof TimeoutError;
}

/** How long to wait after so many failures in a row: what the server asked for, else exponential, half of it by chance. */
export function backoffOf(patience: Patience, failures: number, error: UhpError | null): number {
  if (error !== null && error.retryAfterMs !== null) return error.retryAfterMs;
  const fullMs = Math.min(patience.maxBackoffMs, patience.backoffMs * 2 ** (failures - 1));
  return fullMs * (0.5 + patience.random.fraction() / 2);
}

/**
 * The work, tried again as long as that may help.
 * @param repeatable  False: only where it is clear that nothing was done.
 */
export async function retrying<T>(
  patience: Patience,
  { repeatable, signal }: { readonly repeatable: boolean; readonly signal?: AbortSignal | undefined },
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work();
    } catch (error) {
      const again = isTransient(error) && (repeatable || !isUnclear(error));
      if (!again || attempt >= patience.maxAttempts) throw error;
      await pause(patience.clock, backoffOf(patience, attempt, error), signal);
      signal?.throwIfAborted();
    }
}
