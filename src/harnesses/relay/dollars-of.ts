import { costOf } from '../../core/cost.ts';
import type { Usage } from '../../core/usage.ts';

/** Dollars for a million tokens; what of the cache is absent costs as other input does. */
export interface CallPrices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** @param prices  Null: unknown, and reckoned as every unknown price is, rather too high. */
export function dollarsOf(usage: Usage, prices: CallPrices | null): number {
  if (prices === null) return costOf(usage, { inputCostPerM: null, outputCostPerM: null }).dollars ?? 0;
  const { input, output, cacheRead = input, cacheWrite = input } = prices;
  const [read, written] = [usage.cacheReadInputTokens ?? 0, usage.cacheCreationInputTokens ?? 0];
  // Of the whole prompt the cached tokens are a part.
  const fresh = Math.max(0, (usage.inputTokens ?? 0) - read - written);
  const sum = fresh * input + read * cacheRead + written * cacheWrite + (usage.outputTokens ?? 0) * output;
  return sum / 1_000_000;
}
