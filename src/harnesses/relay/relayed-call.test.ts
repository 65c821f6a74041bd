import { describe, expect, test } from 'vitest';
import { createCallLedger } from './relayed-call.ts';
import { dollarsOf } from '../../core/cost.ts';
import type { RelayFact } from './relay-fact.ts';

const usage = {
  inputTokens: 1_000_000,
  outputTokens: 100_000,
  cacheReadInputTokens: 400_000,
  cacheCreationInputTokens: 100_000,
  thinkingTokens: null,
};

test('H-203: facts of two calls, mixed, are two calls with a status, a usage and a price of their own', () => {
  const callOf = createCallLedger('anthropic', (_, model) => (model === 'dear' ? { input: 10, output: 100 } : null));
  const facts: readonly RelayFact[] = [
    { at: 'asked', request: 1, model: 'dear', atMs: 0 },
    { at: 'asked', request: 2, model: 'cheap', atMs: 0 },
    { at: 'answered', request: 2, status: 429, retryAfterMs: null, failure: 'quota' },
    { at: 'answered', request: 1, status: 200, retryAfterMs: null },
    { at: 'ended', request: 2, how: 'refused', finishReason: null, error: null },
    { at: 'usage', request: 1, usage },
    { at: 'ended', request: 1, how: 'whole', finishReason: 'end_turn', error: null },
  ];
  expect(facts.map(callOf).filter((call) => call !== null)).toMatchObject([
    { request: 2, model: 'cheap', how: 'refused', failure: 'quota', status: 429, usage: null, dollars: null },
    { request: 1, model: 'dear', how: 'whole', failure: null, status: 200, usage, dollars: 20 },
  ]);
});

describe('dollars', () => {
  test('what the cache had to do with has a price of its own, and is part of the whole prompt', () => {
    const prices = { input: 2, output: 10, cacheRead: 0.5, cacheWrite: 2.5 };
    expect(dollarsOf(usage, prices)).toBeCloseTo(0.5 * 2 + 0.4 * 0.5 + 0.1 * 2.5 + 0.1 * 10);
    expect(dollarsOf(usage, { input: 2, output: 10 })).toBeCloseTo(3);
  });

  test('a model without a price is reckoned rather too high', () => {
    expect(dollarsOf(usage, null)).toBeCloseTo(3 + 1.5);
  });
});
