import { countIn, errorIn, objectIn, sum, textIn, usageOf } from './fields.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Sighting } from './sighting.ts';

/** Anthropic Messages. Its numbers grow: each event has the whole so far. */
export function readAnthropic(message: JsonObject): Sighting {
  switch (textIn(message, 'type') ?? '') {
    case 'message_start':
      return { model: textIn(objectIn(message, 'message'), 'model'), usage: usageIn(objectIn(message, 'message')) };
    case 'message_delta':
      return { finishReason: textIn(objectIn(message, 'delta'), 'stop_reason'), usage: usageIn(message) };
    case 'message_stop':
      return { ends: true };
    case 'message':
      return { model: textIn(message, 'model'), finishReason: textIn(message, 'stop_reason'), usage: usageIn(message) };
    case 'error':
      return { error: errorIn(message), ends: true };
    case 'ping':
      return { idle: true };
    default:
      return {};
  }
}

function usageIn(fields: JsonObject) {
  const usage = objectIn(fields, 'usage');
  const cacheReadInputTokens = countIn(usage, 'cache_read_input_tokens');
  const cacheCreationInputTokens = countIn(usage, 'cache_creation_input_tokens');
  return usageOf({
    // Its own figure leaves out what the cache had to do with.
    inputTokens: sum(countIn(usage, 'input_tokens'), cacheReadInputTokens, cacheCreationInputTokens),
    outputTokens: countIn(usage, 'output_tokens'),
    cacheReadInputTokens,
    cacheCreationInputTokens,
    thinkingTokens: countIn(objectIn(usage, 'output_tokens_details'), 'thinking_tokens'),
  });
}
