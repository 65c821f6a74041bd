import { expect, test } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { defaultPolicies } from './policies.ts';
import { startWatch, type Notice, type WatchOptions } from './watch.ts';

function watching(changes: Partial<WatchOptions> = {}) {
  const clock = createManualClock();
  const notices: Notice[] = [];
  const expired: { error: string; afterMs: number }[] = [];
  const startMs = clock.now();
  const watch = startWatch({
    clock,
    limits: { firstEventMs: null, idleMs: 180_000, callMs: 1_000_000 },
    progress: { ...defaultPolicies.progress },
    keepAliveIsProgress: false,
    onNotice: (notice) => void notices.push(notice),
    onExpired: ({ type }) => void expired.push({ error: type, afterMs: clock.now() - startMs }),
    ...changes,
  });
  const each = async (times: number, ms: number, act: () => void) => {
    for (let time = 0; time < times; time++) {
      await clock.advance(ms);
      act();
    }
  };
  return { clock, watch, notices, expired, each };
}

test('E-302: pings prove a connection, not progress: the idle limit passes through them', async () => {
  const { watch, expired, each, clock } = watching();
  await each(20, 10_000, () => watch.byte());
  expect(expired).toEqual([{ error: 'IncompleteStreamError', afterMs: 180_000 }]);
  expect(clock.pending).toBe(0);
});

test('E-302: where keep-alives are progress they hold the idle limit off, but end no wait', async () => {
  const { watch, expired, notices, each, clock } = watching({ keepAliveIsProgress: true });
  await each(40, 10_000, () => watch.byte());
  expect(expired).toEqual([]);
  expect(notices.slice(0, 3).map(({ seconds }) => seconds)).toEqual([10, 25, 40]);
  await clock.advance(180_000);
  expect(expired).toMatchObject([{ error: 'IncompleteStreamError' }]);
});

test('E-302: a notice says how old the newest byte is, and nothing before the first', async () => {
  const { watch, notices, clock } = watching();
  await clock.advance(12_000);
  watch.byte();
  await clock.advance(13_000);
  expect(notices).toEqual([
    { seconds: 10, lastByteMs: null },
    { seconds: 25, lastByteMs: 13_000 },
  ]);
});

test('E-301: progress without anything to show restarts the idle limit', async () => {
  const { watch, expired, each } = watching({ limits: { firstEventMs: 20_000, idleMs: 180_000, callMs: 10_000_000 } });
  await each(1, 19_000, () => watch.touch());
  await each(6, 179_000, () => watch.touch());
  expect(expired).toEqual([]);
});

test('E-304: the whole-call limit ends a call that never falls silent', async () => {
  const { watch, expired, each, clock } = watching({
    limits: { firstEventMs: null, idleMs: 180_000, callMs: 300_000 },
  });
  await each(31, 10_000, () => watch.touch());
  expect(expired).toEqual([{ error: 'CallTimeoutError', afterMs: 300_000 }]);
  expect(clock.pending).toBe(0);
});

test.each([true, false])(
  'E-305: while nobody reads upstream its silence means nothing; afterwards it counts from then (keep-alives are progress: %s)',
  async (keepAliveIsProgress) => {
    const limits = { firstEventMs: null, idleMs: 100_000, callMs: 10_000_000 };
    const { watch, expired, clock } = watching({ limits, keepAliveIsProgress });
    watch.touch();
    watch.pause();
    await clock.advance(500_000);
    expect(expired).toEqual([]);
    watch.resume();
    await clock.advance(100_000);
    expect(expired).toEqual([{ error: 'IncompleteStreamError', afterMs: 600_000 }]);
  },
);
