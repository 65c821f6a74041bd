import { expect, test } from 'vitest';
import { costOf, isPriced, limitsOfPrices } from './cost.ts';
import type { Usage } from './usage.ts';

const million = 1_000_000;
const usage: Usage = {
  inputTokens: 3 * million,
  outputTokens: million,
  cacheReadInputTokens: million,
  cacheCreationInputTokens: million,
  thinkingTokens: null,
};

test('UD-48: cached input has its own price, and costs as other input where it has none', () => {
  const prices = { input: 4, output: 20 };
  expect(costOf(usage, limitsOfPrices(prices))).toEqual({ dollars: 32, estimated: false });
  const cached = limitsOfPrices({ ...prices, cacheRead: 0.5, cacheWrite: 5 });
  expect(costOf(usage, cached)).toEqual({ dollars: 29.5, estimated: false });
});

test('what is not known is estimated, and no usage costs nothing that could be told', () => {
  const unknown = limitsOfPrices(null);
  expect(isPriced(unknown)).toBe(false);
  expect(costOf(usage, unknown)).toEqual({ dollars: 24, estimated: true });
  const known = limitsOfPrices({ input: 1, output: 2 });
  expect(isPriced(known)).toBe(true);
  expect(costOf({ ...usage, outputTokens: null }, known)).toEqual({ dollars: 3, estimated: true });
  expect(costOf(null, known)).toEqual({ dollars: null, estimated: false });
});
