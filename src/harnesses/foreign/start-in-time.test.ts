import { createManualClock } from '../../testing/manual-clock.ts';
import { expect, test } from 'vitest';
import { startInTime } from './start-in-time.ts';

/** Starts until it is told to stop. */
const hangs = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('The start was stopped.')));
  });

test('H-110: a start that shows no sign of life is stopped after as long as its setting says, and that is said', async () => {
  const clock = createManualClock();
  const { signal } = new AbortController();
  const started = startInTime({ label: 'Stub', clock, signal, seconds: 3 }, hangs);
  const ended = expect(started).rejects.toThrow('Stub was not ready within 3 s.');
  await clock.advance(3_000);
  await ended;
});

test('a start that is stopped by another, or fails by itself, says its own reason', async () => {
  const clock = createManualClock();
  const wish = new AbortController();
  const stopped = startInTime({ label: 'Stub', clock, signal: wish.signal, seconds: 3 }, hangs);
  wish.abort();
  await expect(stopped).rejects.toThrow('The start was stopped.');
  const failed = startInTime({ label: 'Stub', clock, signal: new AbortController().signal, seconds: 3 }, () =>
    Promise.reject(new Error('No such file.')),
  );
  await expect(failed).rejects.toThrow('No such file.');
});
