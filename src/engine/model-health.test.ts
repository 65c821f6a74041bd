import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createManualClock } from '../testing/manual-clock.ts';
import { createModelHealth } from './model-health.ts';
import { defaultPolicies, type RetryPolicy } from './policies.ts';
import type { FailureClass } from '../core/provider-failure.ts';
import type { ModelFailure } from './model-outcome.ts';

const one = { provider: 'p', model: 'one' };
const two = { provider: 'p', model: 'two' };

function failure(
  failureClass: FailureClass,
  o: { readonly retryAfterMs?: number; readonly status?: number } = {},
): ModelFailure {
  const { retryAfterMs = null, status = 503 } = o;
  return {
    class: failureClass,
    reason: 'transient-error',
    error: { type: 'ProviderError', message: 'No.', retryable: true, status },
    retryAfterMs,
    retryAtOnce: false,
    statedReplyLimit: null,
    usage: null,
    detail: '',
  };
}

function start(changes: Partial<RetryPolicy> = {}) {
  const clock = createManualClock();
  const health = createModelHealth({ clock });
  const retry = { ...defaultPolicies.retry, ...changes };
  return { clock, health, fail: (each: ModelFailure, attempt = 1) => health.fail(one, each, { retry, attempt }) };
}

test('E-350: at switchAfter strikes the next member is due, and a success clears them', () => {
  const { health, fail } = start({ switchAfter: 2 });
  expect([fail(failure('transient')), fail(failure('transient')), fail(failure('transient'))]).toEqual([
    false,
    true,
    true,
  ]);
  health.succeed(one);
  expect(fail(failure('transient'))).toBe(false);
});

test('E-355: cooldownSeconds keeps a struck member out; the default does not', async () => {
  const struck = start();
  struck.fail(failure('transient'));
  expect(struck.health.blockedUntilMs(one)).toBeNull();
  const { health, clock, fail } = start({ cooldownSeconds: 30 });
  fail(failure('transient'));
  expect(health.blockedUntilMs(one)).toBe(clock.now() + 30_000);
  expect(health.blockedUntilMs(two)).toBeNull();
  await clock.advance(30_000);
  expect(health.blockedUntilMs(one)).toBeNull();
});

test('E-354, B071: spent quota blocks until its reset time, else until it is probed', async () => {
  const told = start();
  expect(told.fail(failure('quota', { retryAfterMs: 3_600_000 }))).toBe(true);
  expect(told.health.blockedUntilMs(one)).toBe(told.clock.now() + 3_600_000);
  const untold = start();
  untold.fail(failure('quota'));
  expect(untold.health.blockedUntilMs(one)).toBe(untold.clock.now() + 900_000);
  await untold.clock.advance(900_000);
  expect(untold.health.blockedUntilMs(one)).toBeNull();
});

test('E-202: a wait that is too long blocks the member; whether another one is due is a choice', () => {
  const long = failure('transient', { retryAfterMs: 172_800_000, status: 429 });
  expect(start({ switchAfter: 5 }).fail(long)).toBe(true);
  expect(start({ onLongRetryAfter: 'fail' }).fail(long)).toBe(false);
});

test('E-355, B073: a short wait that a 429 asks for is waited out once in a step, without a strike', () => {
  const busy = failure('transient', { retryAfterMs: 2000, status: 429 });
  const { health, fail } = start({ stayBelowSeconds: 5 });
  expect([fail(busy), health.blockedUntilMs(one)]).toEqual([false, null]);
  expect(fail(busy, 2)).toBe(true);
  expect(start().fail(busy)).toBe(true);
  expect(start({ stayBelowSeconds: 5 }).fail(failure('transient', { retryAfterMs: 2000 }))).toBe(true);
});

test.each(['final', 'authentication', 'overflow', 'reply-limit'] as const)(
  'E-354: a %s failure is nobody else to put right, and no strike',
  (kind) => {
    const { health, fail } = start({ switchAfter: 1, cooldownSeconds: 60 });
    expect([fail(failure(kind)), health.blockedUntilMs(one)]).toEqual([false, null]);
  },
);

describe('G2: members that are blocked, where no other is left', () => {
  test('E-354: one that is only cooling may always be tried', () => {
    const { health, fail } = start({ cooldownSeconds: 600 });
    fail(failure('transient'));
    expect([health.refusal(one), health.refusal(one)]).toEqual([null, null]);
  });

  test('B074: one that told us when to come back may be tried once a minute', async () => {
    const { health, fail, clock } = start();
    fail(failure('transient', { retryAfterMs: 3_600_000 }));
    expect([health.refusal(one), health.refusal(one)]).toMatchObject([null, { retryAfterMs: 3_600_000 }]);
    await clock.advance(60_000);
    expect([health.refusal(one), health.refusal(one)]).toMatchObject([null, { retryAfterMs: 3_540_000 }]);
  });
});

test('E-215, B074: blocks whose end the server named are told, for a restart, and so is their early end; others are not', () => {
  const { health, fail, clock } = start({ cooldownSeconds: 600 });
  const told: unknown[] = [];
  health.onTold((ref, untilMs) => told.push([ref.model, untilMs]));
  fail(failure('transient'));
  expect(told).toEqual([]);
  fail(failure('quota', { retryAfterMs: 3_600_000 }));
  const untilMs = clock.now() + 3_600_000;
  expect(told).toEqual([['one', untilMs]]);
  const after = createModelHealth({ clock });
  after.restore([{ ref: one, untilMs }]);
  expect(after.blockedUntilMs(one)).toBe(untilMs);
  health.succeed(one);
  expect(told.slice(1)).toEqual([['one', null]]);
});

describe('B074: one that says nothing but 429', () => {
  const busy = failure('transient', { status: 429 });

  test('is left alone after eight times over five seconds, and then asked once a minute, until it answers', async () => {
    const { health, fail, clock } = start();
    for (let times = 1; times < 8; times++) {
      fail(busy);
      await clock.advance(1_000);
    }
    expect(health.blockedUntilMs(one)).toBeNull();
    fail(busy);
    expect([health.blockedUntilMs(one), health.refusal(one)]).toMatchObject([
      clock.now() + 60_000,
      { class: 'transient', retryAfterMs: null },
    ]);
    await clock.advance(60_000);
    expect([health.blockedUntilMs(one), health.refusal(one)]).toEqual([null, null]);
    fail(busy);
    expect(health.refusal(one)).not.toBeNull();
    health.succeed(one);
    fail(busy);
    expect(health.blockedUntilMs(one)).toBeNull();
  });

  test('a burst of them is none, and other failures do not count', async () => {
    const { health, fail, clock } = start();
    for (let times = 0; times < 50; times++) fail(busy);
    expect(health.blockedUntilMs(one)).toBeNull();
    const down = start();
    for (let times = 0; times < 50; times++) {
      down.fail(failure('transient'));
      await down.clock.advance(1_000);
    }
    expect([down.health.blockedUntilMs(one), clock.pending]).toEqual([null, 0]);
  });
});

test('E-211: a stated limit is remembered, through success and failure, for its model alone', () => {
  const { health, fail } = start();
  health.learnReplyLimit(one, 4096);
  fail(failure('quota'));
  health.succeed(one);
  expect([health.replyLimit(one), health.replyLimit(two)]).toEqual([4096, null]);
});

test('E-201: whatever fails in whatever order, a member is blocked at least as long as its server last asked', async () => {
  const failures = fc.array(
    fc.record({
      kind: fc.constantFrom('transient' as const, 'quota' as const),
      asked: fc.nat(200_000),
      passMs: fc.nat(5000),
    }),
    { minLength: 1, maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(failures, fc.nat(100), async (list, cooldownSeconds) => {
      const { health, fail, clock } = start({ cooldownSeconds });
      for (const { kind, asked, passMs } of list) {
        await clock.advance(passMs);
        fail(failure(kind, { retryAfterMs: asked }));
        expect(health.blockedUntilMs(one) ?? clock.now()).toBeGreaterThanOrEqual(clock.now() + asked);
      }
    }),
    { numRuns: 100 },
  );
});
