import type { Clock } from '../../core/clock.ts';

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
