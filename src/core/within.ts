import { sleep, type Clock } from './clock.ts';

/** Waits until `work` has settled, but not longer than `ms` and not beyond the signal. Never rejects, leaves no timer. */
export async function within(
  work: Promise<unknown>,
  { clock, ms, signal }: { readonly clock: Clock; readonly ms: number; readonly signal?: AbortSignal },
): Promise<void> {
  const settled = new AbortController();
  const done = () => settled.abort();
  const until = signal === undefined ? settled.signal : AbortSignal.any([settled.signal, signal]);
  await Promise.race([work.then(done, done), sleep(clock, ms, until)]);
}
