import { expect, test } from 'vitest';
import { createManualClock } from '../../testing/manual-clock.ts';
import { createRunawayWatch } from './runaway.ts';
import type { RelayFact } from '../relay/relay-fact.ts';

const ended = (how: 'whole' | 'cut' | 'aborted' | 'refused'): RelayFact => ({
  at: 'ended',
  request: 1,
  how,
  finishReason: null,
  error: null,
});

test('H-112: six failures in a row are too many; a whole reply begins the count anew, an abort is none', () => {
  const watch = createRunawayWatch(createManualClock());
  const seen = (['cut', 'refused', 'whole', 'cut', 'cut', 'cut', 'aborted', 'cut', 'refused', 'cut'] as const).map(
    (how) => watch(ended(how)),
  );
  expect(seen).toEqual([false, false, false, false, false, false, false, false, false, true]);
});

test('H-112: more than thirty calls within ten seconds are too many, and the same over a minute are not', async () => {
  const clock = createManualClock();
  const asked = (): RelayFact => ({ at: 'asked', request: 1, model: null, atMs: clock.now() });
  const slow = createRunawayWatch(clock);
  for (let call = 0; call < 40; call++) {
    expect(slow(asked())).toBe(false);
    await clock.advance(2_000);
  }
  const fast = createRunawayWatch(clock);
  expect(Array.from({ length: 31 }, () => fast(asked())).at(-1)).toBe(true);
});
