import { countIn, errorIn, objectIn, objectsIn, sum, textIn, usageOf } from './fields.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Sighting } from './sighting.ts';

/** Gemini. A prompt that is blocked has a reason in place of candidates, and no more comes of it. */
export function readGoogle(message: JsonObject): Sighting {
  const reasons = objectsIn(message, 'candidates').map((candidate) => textIn(candidate, 'finishReason'));
  const blocked = textIn(objectIn(message, 'promptFeedback'), 'blockReason');
  const finishReason = reasons.find((reason) => reason !== null) ?? blocked;
  const hasError = message['error'] !== undefined;
  const usage = objectIn(message, 'usageMetadata');
  const thinkingTokens = countIn(usage, 'thoughtsTokenCount');
  return {
    model: textIn(message, 'modelVersion'),
    finishReason,
    error: hasError ? errorIn(message) : null,
    ends: finishReason !== null || hasError,
    usage: usageOf({
      inputTokens: sum(countIn(usage, 'promptTokenCount'), countIn(usage, 'toolUsePromptTokenCount')),
      // Its own figure leaves the thoughts out.
      outputTokens: sum(countIn(usage, 'candidatesTokenCount'), thinkingTokens),
      cacheReadInputTokens: countIn(usage, 'cachedContentTokenCount'),
      thinkingTokens,
    }),
  };
}
