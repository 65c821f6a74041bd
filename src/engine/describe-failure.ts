import { classifyFailure, retryAfterMs, statedReplyLimit, type FailureFacts } from '../core/provider-failure.ts';
import { CallTimeoutError, IncompleteStreamError, MalformedReplyError } from '../core/errors.ts';
import { head } from '../core/text.ts';
import { InStreamError, saysNoReason } from './reply-reader.ts';
import { isJsonObject, parsedOrText, toJsonValue, type JsonObject } from '../core/json.ts';
import type { ErrorInfo, ModelRef } from '../core/outcome.ts';
import type { ModelFailure } from './model-outcome.ts';
import type { ModelTraits } from './model.ts';
import type { ResetReason } from '../core/run-event.ts';

export interface FailureContext {
  readonly model: ModelRef;
  readonly nowMs: number;
  /** Output tokens that were asked for; null: none were named. */
  readonly asked?: number | null;
  readonly isTransient?: ModelTraits['isTransient'];
}

/**
 * Whatever a provider client threw or streamed as its error, as a failure the core can act on. Of a foreign error only its
 * status and type reach the sentence that a caller sees (U-052); the rest is `detail`.
 */
export function describeFailure(thrown: unknown, context: FailureContext): Omit<ModelFailure, 'usage' | 'retryAtOnce'> {
  const own = ownReason(thrown);
  const error = thrown instanceof InStreamError ? thrown.error : thrown;
  // A provider's own error is plain data; an `Error` in its place is the client's, such as a cut connection (E-206).
  const inStream = thrown instanceof InStreamError && !(error instanceof Error);
  const override = overrideOf(error, context);
  const answer = answerOf(error);
  const facts: FailureFacts = {
    ...factsOf(error, answer),
    inStream,
    ...(own === undefined ? {} : { own }),
    ...(override === undefined ? {} : { override }),
  };
  const failureClass = classifyFailure(facts);
  const limited = failureClass === 'reply-limit' && typeof context.asked === 'number';
  return {
    class: failureClass,
    reason: own ?? 'transient-error',
    retryAfterMs: retryAfterMs({ ...answer, nowMs: context.nowMs }, parseDate),
    statedReplyLimit: limited ? statedReplyLimit(facts.message, context.asked) : null,
    error: errorInfo(failureClass, facts, { thrown, model: context.model }),
    detail: detailOf(error),
  };
}

function overrideOf(error: unknown, { isTransient }: FailureContext): boolean | undefined {
  try {
    return isTransient?.(error);
  } catch {
    return undefined;
  }
}

function parseDate(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

/** Names, messages and codes of the chain of causes, and what the provider answered; no request, so no prompt and no key. */
function detailOf(error: unknown): string {
  const words = chainOf(error).map((each) => {
    const code = 'code' in each && typeof each.code === 'string' ? ` (${each.code})` : '';
    return `${each.name}: ${each.message}${code}`;
  });
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
  if (saysNoReason(error)) return 'incomplete';
  const damage = ['AI_InvalidResponseDataError', 'AI_JSONParseError', 'AI_TypeValidationError'];
  return damage.includes(error.name) ? 'malformed-reply' : undefined;
}

const typeOfClass = {
  transient: 'ProviderError',
  quota: 'QuotaExhaustedError',
  overflow: 'ContextOverflowError',
  'reply-limit': 'ProviderError',
  authentication: 'AuthenticationError',
  final: 'ProviderError',
} as const;

const sentenceOfClass = {
  transient: 'could not answer now; trying again later may work',
  quota: 'refused because its quota or credit is used up',
  overflow: 'refused because the conversation is longer than its context window',
  'reply-limit': 'refused because its replies cannot be as long as was asked for',
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

const waitUnits = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** The failure's error with the time at which its server wants to be asked again (E-202). */
export function nameTheWait(failure: Pick<ModelFailure, 'error' | 'retryAfterMs'>, nowMs: number): ErrorInfo {
  const { error, retryAfterMs: ms } = failure;
  const [unit, size] = waitUnits.find(([, each]) => (ms ?? 0) >= 2 * each) ?? ['second', 1000];
  const until = `${new Date(nowMs + (ms ?? 0)).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const asked = `It asks to wait ${Math.round((ms ?? 0) / size)} ${unit}s, until ${until}.`;
  return { ...error, message: `${error.message} ${asked}` };
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

/** What came back from the provider with the error. */
interface Answer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

function answerOf(error: unknown): Answer {
  return { headers: headersOf(error), body: bodyOf(fieldsOf(error)) };
}

function factsOf(error: unknown, { headers, body }: Answer): FailureFacts {
  const fields = fieldsOf(error);
  const inner = isJsonObject(body['error']) ? body['error'] : body;
  const status =
    numberIn(fields, 'statusCode') ?? numberIn(fields, 'status') ?? numberIn(inner, 'code') ?? proxyStatus(error);
  const providerType =
    textIn(inner, 'type') ?? textIn(inner, 'status') ?? textIn(inner, 'code') ?? textIn(fields, 'code');
  const providerCode = textIn(inner, 'code');
  const message = [textIn(inner, 'message'), textIn(fields, 'message')].filter(Boolean).join(' ');
  const shouldRetry = headers['x-should-retry'];
  return {
    message: typeof error === 'string' ? error : message,
    ...(status === undefined ? {} : { status }),
    ...(providerType === undefined ? {} : { providerType }),
    ...(providerCode === undefined ? {} : { providerCode }),
    ...(shouldRetry === 'true' || shouldRetry === 'false' ? { shouldRetry: shouldRetry === 'true' } : {}),
    causeCodes: chainOf(error).flatMap((each) => ('code' in each && typeof each.code === 'string' ? each.code : [])),
  };
}

/** The status of a proxy that would not open a tunnel, which its client tells in words only. */
function proxyStatus(error: unknown): number | undefined {
  const told = chainOf(error).map(({ message }) => /^Proxy response \((\d{3})\)/.exec(message)?.[1]);
  const status = told.find((each) => each !== undefined);
  return status === undefined ? undefined : Number(status);
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

/** The provider's answer as it was sent (`responseBody`), as its client has read it (`data`), or the error object itself. */
function bodyOf(fields: JsonObject): JsonObject {
  const sent = fields['responseBody'];
  const value = typeof sent === 'string' ? parsedOrText(sent) : undefined;
  // Google wraps the error of a stream in a list.
  const first = Array.isArray(value) ? value[0] : value;
  if (isJsonObject(first)) return first;
  if (isJsonObject(fields['data'])) return fields['data'];
  return typeof sent === 'string' ? { ...fields, message: head(sent, 2000) } : fields;
}

/** With names in lower case; of the error itself, or of its response. */
function headersOf(error: unknown): Record<string, string> {
  const response = memberOf(error, 'response');
  const found = memberOf(error, 'responseHeaders') ?? memberOf(error, 'headers') ?? memberOf(response, 'headers');
  if (typeof found !== 'object' || found === null) return {};
  const entries: (readonly unknown[])[] = found instanceof Headers ? [...found] : Object.entries(found);
  const named = entries.flatMap(([name, value]) =>
    typeof value === 'string' ? [[String(name).toLowerCase(), value] as const] : [],
  );
  return Object.fromEntries(named);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** The error and its causes. */
function chainOf(error: unknown): readonly Error[] {
  const chain: Error[] = [];
  for (let current = error; chain.length < 8 && current instanceof Error; current = current.cause) chain.push(current);
  return chain;
}

function textIn(fields: JsonObject, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function numberIn(fields: JsonObject, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' ? value : undefined;
}
