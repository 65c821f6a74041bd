import { TimeoutError } from './errors.ts';
import type { Clock } from '../core/clock.ts';

export interface Limits {
  readonly clock: Clock;
  /** Null: as long as it takes. */
  readonly ms: number | null;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The promise, a TimeoutError after `ms`, or the signal's reason as soon as that aborts: also where what is waited for heeds
 * no signal (B102). Leaves no timer and no listener behind.
 */
export function settleWithin<T>(work: Promise<T>, { clock, ms, signal }: Limits): Promise<T> {
  return new Promise((resolve, reject) => {
    let cancel = () => {};
    const letGo = () => {
      cancel();
      signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown) => {
      letGo();
      reject(error);
    };
    const onAbort = () => fail(signal?.reason);
    work.then((value) => (letGo(), resolve(value)), fail);
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort);
    if (ms !== null) cancel = clock.timer(ms, () => fail(new TimeoutError(ms)));
  });
}

/** Resolves after `ms`, or at once when the signal aborts. */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  const never = new Promise<void>(() => {});
  await settleWithin(never, { clock, ms, signal }).catch(() => undefined);
}
