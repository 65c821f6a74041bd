import { countIn, errorIn, objectIn, objectsIn, textIn, usageOf } from './fields.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Sighting } from './sighting.ts';

/** OpenAI Responses. */
export function readResponses(message: JsonObject): Sighting {
  if (message['object'] === 'response')
    return { ...responseIn(message), calls: objectsIn(message, 'output').filter(isCall).length };
  switch (textIn(message, 'type') ?? '') {
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      return { ...responseIn(objectIn(message, 'response')), ends: true };
    case 'response.output_item.done':
      return { calls: isCall(objectIn(message, 'item')) ? 1 : 0 };
    case 'error':
      return { error: errorIn(message), ends: true };
    case 'keepalive':
      return { idle: true };
    default:
      return { model: textIn(objectIn(message, 'response'), 'model') };
  }
}

const isCall = (item: JsonObject): boolean => /^(function|custom_tool)_call$/.test(textIn(item, 'type') ?? '');

function responseIn(response: JsonObject): Sighting {
  const usage = objectIn(response, 'usage');
  const input = objectIn(usage, 'input_tokens_details');
  const isFailed = Object.keys(objectIn(response, 'error')).length > 0;
  return {
    model: textIn(response, 'model'),
    finishReason: textIn(objectIn(response, 'incomplete_details'), 'reason') ?? textIn(response, 'status'),
    error: isFailed ? errorIn(response) : null,
    usage: usageOf({
      inputTokens: countIn(usage, 'input_tokens'),
      outputTokens: countIn(usage, 'output_tokens'),
      cacheReadInputTokens: countIn(input, 'cached_tokens'),
      cacheCreationInputTokens: countIn(input, 'cache_write_tokens'),
      thinkingTokens: countIn(objectIn(usage, 'output_tokens_details'), 'reasoning_tokens'),
    }),
  };
}
