import { classifyFailure } from '../../core/provider-failure.ts';
import { countIn, objectIn, textIn } from './fields.ts';
import { isJsonObject, type JsonObject } from '../../core/json.ts';
import type { ErrorInfo, StopReason } from '../../core/outcome.ts';
import type { ResetReason } from '../../core/run-event.ts';

/** Codex fails a turn whose last reply was cut off by the provider; that is no fault (H-404). Null: it is one. */
export function cutReply(error: JsonObject): StopReason | null {
  const reason = /Incomplete response returned, reason: (\w+)/.exec(textIn(error, 'message') ?? '')?.[1];
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
  const word = textIn(error, 'codexErrorInfo');
  const status = statusIn(error);
  const message = `${textIn(error, 'message') ?? ''} ${textIn(error, 'additionalDetails') ?? ''}`;
  const known = word === null ? undefined : byWord[word];
  if (known !== undefined) return known;
  if (status === 0 && /idle timeout/.test(message))
    return fault('CallTimeoutError', 'The model fell silent in its reply.', true);
  if (status === 0 && /stream (disconnected|closed)/.test(message))
    return fault('IncompleteStreamError', 'The reply of the model ended before it was whole.', true);
  const facts = { provider: 'openai', ...(status === 0 ? {} : { status }) };
  const answered = status === 0 ? '' : ` with status ${status}`;
  switch (classifyFailure({ message, status })) {
    case 'quota':
      return { ...fault('QuotaExhaustedError', 'The account at the model provider has no quota left.'), ...facts };
    case 'overflow':
      return { ...fault('ContextOverflowError', 'The conversation is longer than the model takes.'), ...facts };
    case 'authentication':
      return { ...fault('AuthenticationError', `The model provider refused the credentials${answered}.`), ...facts };
    case 'transient':
      return { ...fault('ProviderError', `The model provider failed${answered}.`, true), ...facts };
    case 'reply-limit':
    case 'final':
      break;
  }
  return { ...fault('ProviderError', `The model provider refused the request${answered}.`), ...facts };
}

/** Why a reply was given up, from an error that Codex retries after. */
export function resetReasonOf(error: JsonObject): ResetReason {
  const info = readError(error);
  if (info.type === 'CallTimeoutError') return 'stalled';
  return info.type === 'IncompleteStreamError' ? 'incomplete' : 'transient-error';
}

function fault(type: ErrorInfo['type'], message: string, retryable = false): ErrorInfo {
  return { type, message, retryable };
}

const byWord: Readonly<Record<string, ErrorInfo>> = {
  contextWindowExceeded: fault('ContextOverflowError', 'The conversation is longer than the model takes.'),
  usageLimitExceeded: fault('QuotaExhaustedError', 'The account at the model provider has no quota left.'),
  rateLimitExceeded: fault('ProviderError', 'The model provider limits the rate of requests.', true),
  serverOverloaded: fault('ProviderError', 'The model provider is overloaded.', true),
  internalServerError: fault('ProviderError', 'The model provider failed.', true),
  unauthorized: fault('AuthenticationError', 'The model provider refused the credentials.'),
  modelNotFound: fault('ProviderError', 'The model provider does not know the model.'),
  sandboxError: fault('HarnessError', 'The sandbox of Codex failed.'),
};

/** 0: none is told. */
function statusIn(error: JsonObject): number {
  const info = objectIn(error, 'codexErrorInfo');
  const [detail] = Object.values(info);
  return isJsonObject(detail) ? countIn(detail, 'httpStatusCode') : 0;
}
