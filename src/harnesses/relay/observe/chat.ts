import { countIn, errorIn, objectIn, objectsIn, textIn, usageOf } from './fields.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Sighting } from './sighting.ts';

/** Chat completions. A finish reason is the end mark: `[DONE]` is optional, and alone it says nothing of the reply. */
export function readChat(message: JsonObject): Sighting {
  const reasons = objectsIn(message, 'choices').map((choice) => textIn(choice, 'finish_reason'));
  const finishReason = reasons.find((reason) => reason !== null) ?? null;
  const hasError = message['error'] !== undefined && message['error'] !== null;
  const usage = objectIn(message, 'usage');
  const prompt = objectIn(usage, 'prompt_tokens_details');
  return {
    model: textIn(message, 'model'),
    finishReason,
    error: hasError ? errorIn(message) : null,
    ends: finishReason !== null || hasError,
    calls: objectsIn(message, 'choices').flatMap(callsBegunIn).length,
    usage: usageOf({
      inputTokens: countIn(usage, 'prompt_tokens'),
      outputTokens: countIn(usage, 'completion_tokens'),
      cacheReadInputTokens: countIn(prompt, 'cached_tokens'),
      cacheCreationInputTokens: countIn(prompt, 'cache_write_tokens'),
      thinkingTokens: countIn(objectIn(usage, 'completion_tokens_details'), 'reasoning_tokens'),
    }),
  };
}

/** The first piece of a call has its name; whole ones have it as well. */
function callsBegunIn(choice: JsonObject): readonly JsonObject[] {
  const pieces = ['delta', 'message'].flatMap((field) => objectsIn(objectIn(choice, field), 'tool_calls'));
  return pieces.filter((piece) => (textIn(objectIn(piece, 'function'), 'name') ?? '') !== '');
}
