import type { Usage as PartUsage } from '../../protocol/parts/stream-part.ts';
import { asCount, type Usage } from '../../core/usage.ts';

/** Null: nothing was counted. Nothing but zeros is what a runtime says that does not know (H-031). */
export function usageOf({ inputTokens, outputTokens }: PartUsage): Usage | null {
  const usage: Usage = {
    inputTokens: asCount(inputTokens.total),
    outputTokens: asCount(outputTokens.total),
    cacheReadInputTokens: asCount(inputTokens.cacheRead),
    cacheCreationInputTokens: asCount(inputTokens.cacheWrite),
    thinkingTokens: asCount(outputTokens.reasoning),
  };
  return Object.values(usage).every((count) => count === null || count === 0) ? null : usage;
}

/**
 * What a turn has used up, by a total that may go on from turn to turn (H-031). Null: it is not known where it began.
 * @param before  The total at the turn's beginning; one that has become less is of its turn alone.
 */
export function usageSince(total: Usage | null, before: Usage | null): Usage | null {
  if (total === null || before === null) return null;
  const keys = [
    'inputTokens',
    'outputTokens',
    'cacheReadInputTokens',
    'cacheCreationInputTokens',
    'thinkingTokens',
  ] as const;
  const since = (key: (typeof keys)[number]) => (total[key] === null ? null : total[key] - (before[key] ?? 0));
  if (keys.some((key) => (since(key) ?? 0) < 0)) return total;
  return {
    inputTokens: since('inputTokens'),
    outputTokens: since('outputTokens'),
    cacheReadInputTokens: since('cacheReadInputTokens'),
    cacheCreationInputTokens: since('cacheCreationInputTokens'),
    thinkingTokens: since('thinkingTokens'),
  };
}

/** Of a session that begins. */
export const nothingUsed: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  thinkingTokens: 0,
};
