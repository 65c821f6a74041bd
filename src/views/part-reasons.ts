// Why a reply or a turn ended, and what it used, in the words of parts (P-065).

import type { FinishReason, Usage as PartUsage } from '../protocol/parts/stream-part.ts';
import type { StopReason } from '../core/outcome.ts';
import type { Usage } from '../core/usage.ts';

const unified: Readonly<Record<StopReason, FinishReason['unified']>> = {
  'end-turn': 'stop',
  'stop-sequence': 'stop',
  'max-tokens': 'length',
  refusal: 'content-filter',
  safety: 'content-filter',
  'tool-use': 'tool-calls',
  'pause-turn': 'other',
  other: 'other',
  'empty-reply': 'other',
  'max-steps': 'other',
  'max-cost': 'other',
  'max-total-tokens': 'other',
  'max-time': 'other',
  loop: 'other',
  cancelled: 'other',
};

/**
 * @param reason  Null: the step was given up.
 * @param said  The provider's own word for it.
 */
export function partReason(reason: StopReason | null, said: string | null): FinishReason {
  return { unified: reason === null ? 'error' : unified[reason], raw: said ?? reason ?? undefined };
}

export function partUsage(usage: Usage | null, usageIncomplete: boolean): PartUsage {
  const input = usage?.inputTokens ?? undefined;
  const output = usage?.outputTokens ?? undefined;
  const cacheRead = usage?.cacheReadInputTokens ?? undefined;
  const cacheWrite = usage?.cacheCreationInputTokens ?? undefined;
  const reasoning = usage?.thinkingTokens ?? undefined;
  return {
    inputTokens: { total: input, noCache: rest(input, cacheRead, cacheWrite), cacheRead, cacheWrite },
    outputTokens: { total: output, text: rest(output, reasoning), reasoning },
    ...(usageIncomplete ? { raw: { reins: { usageIncomplete } } } : {}),
  };
}

/** What is left of a total; undefined where something is not known, or the counts cannot be. */
function rest(total: number | undefined, ...taken: readonly (number | undefined)[]): number | undefined {
  let left = total;
  for (const count of taken) left = left === undefined || count === undefined ? undefined : left - count;
  return left === undefined || left < 0 ? undefined : left;
}
