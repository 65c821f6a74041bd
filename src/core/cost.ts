import type { Limits } from './run-event.ts';
import type { RunResultData } from './outcome.ts';
import type { Usage } from './usage.ts';

/** Dollars per million tokens of a model whose price nobody gave: rather too high than too low. */
const unknownPrice = { input: 3, output: 15 };

/** What the usage costs; null dollars where no usage is known. Cached input counts in full, so the figure is an upper one. */
export function costOf(
  usage: Usage | null,
  { inputCostPerM, outputCostPerM }: Pick<Limits, 'inputCostPerM' | 'outputCostPerM'>,
): RunResultData['cost'] {
  const estimated = inputCostPerM === null || outputCostPerM === null;
  if (usage === null) return { dollars: null, estimated };
  const input = (usage.inputTokens ?? 0) * (inputCostPerM ?? unknownPrice.input);
  const output = (usage.outputTokens ?? 0) * (outputCostPerM ?? unknownPrice.output);
  const whole = usage.inputTokens !== null && usage.outputTokens !== null;
  return { dollars: (input + output) / 1_000_000, estimated: estimated || !whole };
}
