import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { limitsOfPrincipal } from './principal-limits.ts';
import { noBudgets } from '../core/run-config.ts';
import { costOf } from '../core/cost.ts';
import { limitsOf, withinQuota } from './task-limits.ts';
import type { Services } from './services.ts';

const emptyUsage = { cacheReadInputTokens: null, cacheCreationInputTokens: null, thinkingTokens: null };

const figure = fc.option(fc.nat(100));

test('UR-53: a run has the least of its own budget and what is left, and says which came from the quota', () => {
  fc.assert(
    fc.property(figure, figure, figure, figure, (maxTotalTokens, maxCostDollars, tokens, dollars) => {
      const { limits, quota } = withinQuota({ ...noBudgets, maxTotalTokens, maxCostDollars }, { tokens, dollars });
      const least = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.min(a, b));
      expect(limits).toEqual({
        ...noBudgets,
        maxTotalTokens: least(maxTotalTokens, tokens),
        maxCostDollars: least(maxCostDollars, dollars),
      });
      expect(quota.includes('tokens')).toBe(tokens !== null && limits.maxTotalTokens !== maxTotalTokens);
      expect(quota.includes('cost')).toBe(dollars !== null && limits.maxCostDollars !== maxCostDollars);
    }),
  );
});

test('UR-53: what is set for one principal stands before what is set for all, null too; a name of every object is no name', () => {
  const all = { tasksPerMinute: 5, runningTasks: 1, tokensPerDay: 10, dollarsPerDay: null, uploadBytesPerDay: null };
  const principalLimits = { ...all, principals: { ada: { runningTasks: null, tokensPerDay: 0 } } };
  const services = { settings: { principalLimits } } as unknown as Services;
  expect(limitsOfPrincipal(services, 'ada')).toEqual({ ...all, runningTasks: null, tokensPerDay: 0 });
  for (const name of ['bob', 'constructor', '__proto__']) expect(limitsOfPrincipal(services, name)).toEqual(all);
});

test('E-064, UR-53: a task costs what its model costs, by the price of the one that was chosen; one that nobody knows is reckoned as before, and said to be', () => {
  const settings = {
    timeoutSeconds: 60,
    maxTimeoutSeconds: 90,
    pricesOf: ({ model }: { model: string }) => (model === 'known' ? { input: 1, output: 2, cacheRead: 0.1 } : null),
  } as Partial<Services['settings']> as Services['settings'];
  const plain = { maxStep: null, maxOutputTokens: null, timeoutSeconds: null };
  const of = (model: string, own = settings) =>
    limitsOf({ settings: own }, { body: plain, harness: plain, model: { provider: 'openai', model } });
  const usage = { ...emptyUsage, inputTokens: 1_000_000, outputTokens: 500_000 };
  expect(costOf(usage, of('known'))).toEqual({ dollars: 2, estimated: false });
  expect(costOf({ ...usage, cacheReadInputTokens: 1_000_000 }, of('known')).dollars).toBeCloseTo(1.1);
  const { pricesOf: _, ...without } = settings;
  for (const limits of [of('unknown'), of('known', without)])
    expect(costOf(usage, limits)).toEqual({ dollars: 10.5, estimated: true });
});
