import { sleep, type Clock } from '../../core/clock.ts';

export interface Patience {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal?: AbortSignal;
}

/** Waits until `work` has settled, but not longer than `ms` and not beyond the signal. Never rejects, leaves no timer. */
export async function within(work: Promise<unknown>, { clock, ms, signal }: Patience): Promise<void> {
  const settled = new AbortController();
  const done = () => settled.abort();
  const until = signal === undefined ? settled.signal : AbortSignal.any([settled.signal, signal]);
  await Promise.race([work.then(done, done), sleep(clock, ms, until)]);
}

/** A signal that aborts after `ms`, or with its parent. Dispose it to forget the timer. */
export function timeLimit(
  clock: Clock,
  ms: number,
  parent?: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const own = new AbortController();
  const cancel = clock.timer(ms, () => own.abort(new Error(`No answer within ${ms / 1000} s.`)));
  const signal = parent === undefined ? own.signal : AbortSignal.any([own.signal, parent]);
  return { signal, [Symbol.dispose]: cancel };
}
