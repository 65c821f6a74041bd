/**
 * Time enters Reins here and nowhere else (E-011): a manual clock makes every law about time testable without a sleep.
 */
export interface Clock {
  /** Unix time in milliseconds. */
  now(): number;
  /** Calls back once after `ms`. The returned function cancels; cancelling twice, or after the call, does nothing. */
  timer(ms: number, callback: () => void): () => void;
}

/**
 * Resolves after `ms`, or at once when the signal aborts: look at `signal.aborted` to tell the two apart.
 * Leaves no listener behind on either path (E-847).
 */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.timer(ms, finish);
    signal?.addEventListener('abort', finish);
  });
}
