/**
 * Tokens of one or more model calls. A number nobody gave is `null`, never 0 (E-062).
 * `inputTokens` is the whole prompt, cached tokens included; `thinkingTokens` is part of `outputTokens`.
 */
export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cacheReadInputTokens: number | null;
  readonly cacheCreationInputTokens: number | null;
  readonly thinkingTokens: number | null;
}

/** More than any call can take; so sums stay exact. */
const mostCounted = 1e12;

/** A count as somebody else tells it, gateways even in fractions; null: it is none (E-062). */
export function asCount(told: unknown): number | null {
  return typeof told === 'number' && told >= 0 && told <= mostCounted ? Math.round(told) : null;
}

/** Sums what is known. Whether something was unknown is kept apart, as `usageIncomplete`. */
export function addUsage(a: Usage | null, b: Usage | null): Usage | null {
  if (a === null || b === null) return a ?? b;
  return {
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
    cacheReadInputTokens: add(a.cacheReadInputTokens, b.cacheReadInputTokens),
    cacheCreationInputTokens: add(a.cacheCreationInputTokens, b.cacheCreationInputTokens),
    thinkingTokens: add(a.thinkingTokens, b.thinkingTokens),
  };
}

function add(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return a + b;
}

/** Input plus output, or null when both are unknown. */
export function totalTokens(usage: Usage): number | null {
  return add(usage.inputTokens, usage.outputTokens);
}
