import type { Limits } from './run-config.ts';
import type { RunResultData } from './outcome.ts';
import type { Usage } from './usage.ts';

/** Dollars for a million tokens; what of the cache is absent costs as other input does. */
export interface TokenPrices {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** Of a model whose price nobody gave: rather too high than too low. */
const unknownPrice = { input: 3, output: 15 };

type PriceLimits = Pick<Limits, 'inputCostPerM' | 'outputCostPerM' | 'cacheReadCostPerM' | 'cacheWriteCostPerM'>;

/** How a run keeps the prices of its model. @param prices  Null: unknown. */
export function limitsOfPrices(prices: TokenPrices | null): PriceLimits {
  return {
    inputCostPerM: prices?.input ?? null,
    outputCostPerM: prices?.output ?? null,
    ...(prices?.cacheRead === undefined ? {} : { cacheReadCostPerM: prices.cacheRead }),
    ...(prices?.cacheWrite === undefined ? {} : { cacheWriteCostPerM: prices.cacheWrite }),
  };
}

/** What the usage costs by a run's prices; null dollars where no usage is known. */
export function costOf(usage: Usage | null, limits: PriceLimits): RunResultData['cost'] {
  const { inputCostPerM, outputCostPerM, cacheReadCostPerM, cacheWriteCostPerM } = limits;
  const estimated = !isPriced(limits);
  if (usage === null) return { dollars: null, estimated };
  const dollars = dollarsOf(usage, {
    input: inputCostPerM ?? unknownPrice.input,
    output: outputCostPerM ?? unknownPrice.output,
    ...(cacheReadCostPerM === undefined ? {} : { cacheRead: cacheReadCostPerM }),
    ...(cacheWriteCostPerM === undefined ? {} : { cacheWrite: cacheWriteCostPerM }),
  });
  const whole = usage.inputTokens !== null && usage.outputTokens !== null;
  return { dollars, estimated: estimated || !whole };
}

/** Whether somebody gave the prices that a run is reckoned by. */
export function isPriced({ inputCostPerM, outputCostPerM }: Pick<Limits, 'inputCostPerM' | 'outputCostPerM'>): boolean {
  return inputCostPerM !== null && outputCostPerM !== null;
}

/** @param prices  Null: unknown. */
export function dollarsOf(usage: Usage, prices: TokenPrices | null): number {
  const { input, output, cacheRead = input, cacheWrite = input }: TokenPrices = prices ?? unknownPrice;
  const [read, written] = [usage.cacheReadInputTokens ?? 0, usage.cacheCreationInputTokens ?? 0];
  // Of the whole prompt the cached tokens are a part.
  const fresh = Math.max(0, (usage.inputTokens ?? 0) - read - written);
  const sum = fresh * input + read * cacheRead + written * cacheWrite + (usage.outputTokens ?? 0) * output;
  return sum / 1_000_000;
}
