import { countOf, objectOf, textOf, wordOf } from '../foreign/fields.ts';
import { harnessError } from '../foreign/turn-endings.ts';
import { providerError } from '../foreign/provider-error.ts';
import type { ErrorInfo, StopReason } from '../../core/outcome.ts';
import type { JsonObject } from '../../core/json.ts';
import type { ResetReason } from '../../core/run-event.ts';

/** Codex fails a turn whose last reply was cut off by the provider; that is no fault (H-404). Null: it is one. */
export function cutReply(error: JsonObject): StopReason | null {
  const reason = /Incomplete response returned, reason: (\w+)/.exec(textOf(error['message']))?.[1];
  if (reason === undefined) return null;
  return stopReasonOf(reason);
}

/** From the words of the Responses wire. */
export function stopReasonOf(word: string | null): StopReason {
  switch (word) {
    case 'max_output_tokens':
      return 'max-tokens';
    case 'content_filter':
      return 'safety';
    case null:
    case 'completed':
      return 'end-turn';
    default:
      return 'other';
  }
}

/** A fault in words of our own: Codex repeats what the provider said, which may be anything. */
export function readError(error: JsonObject): ErrorInfo {
  const word = wordOf(error['codexErrorInfo']);
  const status = statusIn(error);
  const message = `${textOf(error['message'])} ${textOf(error['additionalDetails'])}`;
  if (word === 'sandboxError') return harnessError('The sandbox of Codex failed.');
  if (word !== null && word !== 'other') return providerError({ status, type: word, message: '' });
  if (status === null && /idle timeout/.test(message))
    return { type: 'CallTimeoutError', message: 'The model fell silent in its reply.', retryable: true };
  if (status === null && /stream (disconnected|closed)/.test(message))
    return {
      type: 'IncompleteStreamError',
      message: 'The reply of the model ended before it was whole.',
      retryable: true,
    };
  return providerError({ status, type: null, message });
}

/** Why a reply was given up, from an error that Codex retries after. */
export function resetReasonOf(error: JsonObject): ResetReason {
  const info = readError(error);
  if (info.type === 'CallTimeoutError') return 'stalled';
  return info.type === 'IncompleteStreamError' ? 'incomplete' : 'transient-error';
}

/** Null: none is told. */
function statusIn(error: JsonObject): number | null {
  const [detail] = Object.values(objectOf(error['codexErrorInfo']));
  return countOf(objectOf(detail)['httpStatusCode']) || null;
}
