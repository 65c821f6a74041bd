import { classifyFailure, retryAfterMs, type FailureFacts } from '../core/provider-failure.ts';
import { CallTimeoutError, IncompleteStreamError, MalformedReplyError } from '../core/errors.ts';
import { head } from '../core/text.ts';
import { InStreamError } from './reply-reader.ts';
import { isJsonObject, toJsonValue, type JsonObject } from '../core/json.ts';
import type { ErrorInfo, ModelRef } from '../core/outcome.ts';
import type { ModelFailure } from './react.ts';
import type { ResetReason } from '../core/run-event.ts';

/**
 * Whatever a provider client threw or streamed as its error, as a failure the core can act on. Of a foreign error only its
 * status and type reach the sentence that a caller sees (U-052); the rest is `detail`.
 */
export function describeFailure(thrown: unknown, model: ModelRef): Omit<ModelFailure, 'usage'> {
  const own = ownReason(thrown);
  const error = thrown instanceof InStreamError ? thrown.error : thrown;
  // A provider's own error is plain data; an `Error` in its place is the client's, such as a cut connection (E-206).
  const inStream = thrown instanceof InStreamError && !(error instanceof Error);
  const facts: FailureFacts = { ...factsOf(error), inStream, ...(own === undefined ? {} : { own }) };
  const failureClass = classifyFailure(facts);
  return {
    class: failureClass,
    reason: own ?? 'transient-error',
    retryAfterMs: retryAfterOf(error),
    error: errorInfo(failureClass, facts, { thrown, model }),
    detail: detailOf(error),
  };
}

/** Names, messages and codes of the chain of causes, and what the provider answered; no request, so no prompt and no key. */
function detailOf(error: unknown): string {
  const words: string[] = [];
  let current = error;
  for (let depth = 0; depth < 6 && current instanceof Error; depth++) {
    const code = 'code' in current && typeof current.code === 'string' ? ` (${current.code})` : '';
    words.push(`${current.name}: ${current.message}${code}`);
    current = current.cause;
  }
  const body = fieldsOf(error)['responseBody'];
  if (typeof body === 'string' && body !== '') words.push(`answer: ${body}`);
  if (words.length === 0) words.push(typeof error === 'string' ? error : JSON.stringify(toJsonValue(error)));
  return head(words.join('; '), 1000);
}

type OwnReason = Exclude<ResetReason, 'transient-error'>;

function ownReason(error: unknown): OwnReason | undefined {
  if (error instanceof CallTimeoutError) return 'call-timeout';
  if (error instanceof MalformedReplyError) return 'malformed-reply';
  if (error instanceof IncompleteStreamError) return error.how;
  return error instanceof InStreamError ? damageOf(error.error) : undefined;
}

/** Damage that a provider client found in the stream and reported as an error part of its own. */
function damageOf(error: unknown): OwnReason | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.message.includes('without a finish reason')) return 'incomplete';
  const damage = ['AI_InvalidResponseDataError', 'AI_JSONParseError', 'AI_TypeValidationError'];
  return damage.includes(error.name) ? 'malformed-reply' : undefined;
}

const typeOfClass = {
  transient: 'ProviderError',
  quota: 'QuotaExhaustedError',
  overflow: 'ContextOverflowError',
  authentication: 'AuthenticationError',
  final: 'ProviderError',
} as const;

const sentenceOfClass = {
  transient: 'could not answer now; trying again later may work',
  quota: 'refused because its quota or credit is used up',
  overflow: 'refused because the conversation is longer than its context window',
  authentication: 'refused the configured credential',
  final: 'refused the request',
} as const;

function errorInfo(
  failureClass: keyof typeof typeOfClass,
  facts: FailureFacts,
  { thrown, model }: { readonly thrown: unknown; readonly model: ModelRef },
): ErrorInfo {
  const own = ownWords(thrown);
  return {
    type: own?.type ?? typeOfClass[failureClass],
    message: own?.message ?? `The model provider ${unreached(facts) ?? sentenceOfClass[failureClass]}${said(facts)}.`,
    retryable: failureClass === 'transient',
    provider: model.provider,
    model: model.model,
    ...(facts.status === undefined || facts.status < 400 ? {} : { status: facts.status }),
  };
}

/** No answer came at all: it is not the provider that refused. */
function unreached({ status, inStream, causeCodes = [] }: FailureFacts): string | null {
  const code = causeCodes.find((each) => /^(E[A-Z_]+|UND_ERR_CONNECT\w*)$/.test(each));
  return status === undefined && !inStream && code !== undefined ? `could not be reached (${code})` : null;
}

/** Our own errors have a sentence of their own; a malformed reply is the provider's fault. */
function ownWords(thrown: unknown): Pick<ErrorInfo, 'type' | 'message'> | null {
  if (thrown instanceof CallTimeoutError) return { type: 'CallTimeoutError', message: thrown.message };
  if (thrown instanceof IncompleteStreamError) return { type: 'IncompleteStreamError', message: thrown.message };
  return thrown instanceof MalformedReplyError ? { type: 'ProviderError', message: thrown.message } : null;
}

function said({ status, providerType }: FailureFacts): string {
  const words = [status === undefined || status < 400 ? [] : [`status ${status}`], providerType ?? []];
  const list = words.flat().map((word) => head(word, 80));
  return list.length === 0 ? '' : ` (${list.join(', ')})`;
}

function factsOf(error: unknown): FailureFacts {
  const fields = fieldsOf(error);
  const body = bodyOf(fields);
  const inner = isJsonObject(body['error']) ? body['error'] : body;
  const status = numberIn(fields, 'statusCode') ?? numberIn(fields, 'status');
  const providerType = textIn(inner, 'type') ?? textIn(inner, 'code') ?? textIn(fields, 'code');
  const message = [textIn(inner, 'message'), textIn(fields, 'message'), textIn(inner, 'code')]
    .filter(Boolean)
    .join(' ');
  const shouldRetry = headersOf(fields)['x-should-retry'];
  return {
    message: typeof error === 'string' ? error : message,
    ...(status === undefined ? {} : { status }),
    ...(providerType === undefined ? {} : { providerType }),
    ...(shouldRetry === 'true' || shouldRetry === 'false' ? { shouldRetry: shouldRetry === 'true' } : {}),
    causeCodes: causeCodesOf(error),
  };
}

function retryAfterOf(error: unknown): number | null {
  const fields = fieldsOf(error);
  const body = bodyOf(fields);
  const inner = isJsonObject(body['error']) ? body['error'] : body;
  const seconds = numberIn(inner, 'retry_after') ?? numberIn(body, 'retry_after');
  return retryAfterMs(headersOf(fields), seconds === undefined ? {} : { retryAfterSeconds: seconds }, (text) => {
    const ms = Date.parse(text);
    return Number.isNaN(ms) ? null : ms;
  });
}

function fieldsOf(error: unknown): JsonObject {
  if (error instanceof Error) {
    const known = { name: error.name, message: error.message };
    const own = toJsonValue(Object.fromEntries(Object.entries(error)));
    return isJsonObject(own) ? { ...own, ...known } : known;
  }
  const value = toJsonValue(error);
  return isJsonObject(value) ? value : {};
}

/** The provider's answer: already parsed (`data`), as text (`responseBody`), or the error object itself. */
function bodyOf(fields: JsonObject): JsonObject {
  if (isJsonObject(fields['data'])) return fields['data'];
  const text = fields['responseBody'];
  if (typeof text !== 'string') return fields;
  try {
    const parsed = toJsonValue(JSON.parse(text));
    return isJsonObject(parsed) ? parsed : fields;
  } catch {
    return { ...fields, message: head(text, 2000) };
  }
}

function headersOf(fields: JsonObject): Record<string, string> {
  const headers = fields['responseHeaders'];
  if (!isJsonObject(headers)) return {};
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name.toLowerCase(), value] as const] : [],
  );
  return Object.fromEntries(entries);
}

function causeCodesOf(error: unknown): readonly string[] {
  const codes: string[] = [];
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if ('code' in current && typeof current.code === 'string') codes.push(current.code);
    current = current.cause;
  }
  return codes;
}

function textIn(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberIn(fields: JsonObject, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' ? value : undefined;
}
