import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callTimeoutMs, defaultPolicies, retryWaitMs } from './policies.ts';

const { retry } = defaultPolicies;

test('E-201, E-943: base ≤ wait ≤ base × (1 + jitter), and never earlier than the server asked', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.option(fc.nat(600_000)),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (attempt, asked, fraction) => {
        const wait = retryWaitMs(retry, { attempt, retryAfterMs: asked, fraction });
        const base = Math.max(Math.min(0.5 * 2 ** (attempt - 1), 60) * 1000, asked ?? 0);
        expect(wait).toBeGreaterThanOrEqual(Math.floor(base));
        expect(wait).toBeLessThanOrEqual(Math.ceil(base * (1 + retry.jitter)));
      },
    ),
  );
});

test('E-304: a reply budget of 32,000 tokens gives 960 s, a small one 300 s', () => {
  expect(callTimeoutMs(retry, 32_000)).toBe(960_000);
  expect(callTimeoutMs(retry, 100)).toBe(300_000);
});
