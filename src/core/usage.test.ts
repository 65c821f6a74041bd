import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countUsage } from '../harnesses/claude-code/count-usage.ts';
import { countIn } from '../harnesses/relay/observe/fields.ts';
import { usageOf } from '../harnesses/harness-v1/usage-of.ts';
import { chargeOf } from '../tasks/principal-limits.ts';
import { resultDraft } from '../testing/store-samples.ts';
import { runIds, sessionIds } from './ids.ts';
import { asCount } from './usage.ts';

const numbers = fc.oneof(fc.double(), fc.nat(), fc.constantFrom(12.5, -1, 1e300, Number.NaN, Number.POSITIVE_INFINITY));
const isCount = (count: number | null) => count === null || (Number.isSafeInteger(count) && count >= 0);

test('E-062: a count is a whole number that a store holds, or unknown', () => {
  fc.assert(fc.property(fc.oneof(numbers, fc.anything()), (told) => isCount(asCount(told))));
  expect([12.5, 0, 1e12, 1e13, -1, '3', undefined].map(asCount)).toEqual([13, 0, 1e12, null, null, null, null]);
});

test('E-062: whatever an agent or a relayed provider reports, it is counted in whole numbers', () => {
  fc.assert(
    fc.property(numbers, numbers, (a, b) => {
      const claude = countUsage({ input_tokens: a, cache_read_input_tokens: b }, { output_tokens: b });
      const input = { total: a, noCache: b, cacheRead: b, cacheWrite: a };
      const v1 = usageOf({ inputTokens: input, outputTokens: { total: b, text: a, reasoning: a } });
      const counts = [claude, v1].flatMap((usage) => (usage === null ? [] : Object.values(usage)));
      return [...counts, countIn({ n: a }, 'n')].every(isCount);
    }),
  );
});

test('UR-53: what a run is charged with can be stored, whatever its result says', () => {
  const result = resultDraft(runIds.make('a'), sessionIds.make('a'));
  if (result.type !== 'run-result') throw new Error('It is none.');
  fc.assert(
    fc.property(numbers, numbers, (tokens, dollars) => {
      const usage = { inputTokens: tokens, outputTokens: null, cacheReadInputTokens: null };
      const rest = { cacheCreationInputTokens: null, thinkingTokens: null };
      const data = { ...result.data, usage: { ...usage, ...rest }, cost: { dollars, estimated: true } };
      const { spent } = chargeOf([{ ...result, data }]);
      return isCount(spent?.tokens ?? null) && Number.isFinite(spent?.dollars ?? 0);
    }),
  );
});
