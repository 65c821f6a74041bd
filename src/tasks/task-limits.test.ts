import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { limitsOfPrincipal } from './principal-limits.ts';
import { noBudgets } from '../core/run-event.ts';
import { withinQuota } from './task-limits.ts';
import type { Services } from './services.ts';

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
