import { expect, test } from 'vitest';
import { createManualClock } from '../../testing/manual-clock.ts';
import { createRunawayWatch } from './runaway.ts';
import type { RelayFact } from '../relay/relay-fact.ts';

const ended = (how: 'whole' | 'cut' | 'aborted' | 'refused') =>
  ({ at: 'ended', request: 1, how, finishReason: null, error: null }) as const;

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

test('H-112, H-204: calls that were refused for a spent budget are none of it, however many', () => {
  const watch = createRunawayWatch(createManualClock());
  const error = { type: 'reins_budget', message: 'The budget of this task is used up.' };
  for (let request = 1; request <= 60; request++) {
    expect(watch({ at: 'asked', request, model: null, atMs: 0 })).toBe(false);
    expect(watch({ ...ended('refused'), request, error })).toBe(false);
  }
});
