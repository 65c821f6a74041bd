import type { JsonObject } from '../../core/json.ts';
import { asCount, type Usage } from '../../core/usage.ts';

/** Of one reply, as its beginning and its end tell it; null: it counts nothing, which is not said of a real reply (H-031). */
export function countUsage(begin: JsonObject, end: JsonObject): Usage | null {
  const told = { ...begin, ...end };
  const fresh = asCount(told['input_tokens']);
  const read = asCount(told['cache_read_input_tokens']);
  const written = asCount(told['cache_creation_input_tokens']);
  const output = asCount(told['output_tokens']);
  if ([fresh, read, written, output].every((count) => (count ?? 0) === 0)) return null;
  return {
    inputTokens: fresh === null ? null : fresh + (read ?? 0) + (written ?? 0),
    outputTokens: output,
    cacheReadInputTokens: read,
    cacheCreationInputTokens: written,
    thinkingTokens: null,
  };
}

/** What was used beyond what is known, as by sub-agents; null: nothing. */
export function usedBeyond(all: Usage | null, known: Usage | null): Usage | null {
  if (all === null) return null;
  const beyond = (field: keyof Usage) => {
    const count = all[field];
    return count === null ? null : Math.max(0, count - (known?.[field] ?? 0));
  };
  const usage = {
    inputTokens: beyond('inputTokens'),
    outputTokens: beyond('outputTokens'),
    cacheReadInputTokens: beyond('cacheReadInputTokens'),
    cacheCreationInputTokens: beyond('cacheCreationInputTokens'),
    thinkingTokens: null,
  };
  return (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) === 0 ? null : usage;
}
