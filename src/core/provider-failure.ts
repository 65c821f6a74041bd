// What kind of fault a model call met: decided here for the engine and for every adapter alike (E-205). Pure: the caller
// brings the facts out of whatever error its client threw.

import { isJsonObject, type JsonObject, type JsonValue } from './json.ts';
import type { ResetReason } from './run-event.ts';

export interface FailureFacts {
  readonly message: string;
  /** HTTP status of a refusal, or the one that an error inside a stream names; the 200 of such a stream counts as none. */
  readonly status?: number;
  /** Error type that the provider named, such as `overloaded_error`. */
  readonly providerType?: string;
  /** Its finer code, such as `insufficient_quota`. */
  readonly providerCode?: string;
  /** Named by an error event inside a stream that began with 200. */
  readonly inStream?: boolean;
  /** Codes of the cause chain, such as `ECONNRESET`. */
  readonly causeCodes?: readonly string[];
  /** The provider's own word on retrying (`x-should-retry`). */
  readonly shouldRetry?: boolean;
  /** Set by our own watches: already known to be transient. */
  readonly own?: Exclude<ResetReason, 'transient-error'>;
  /** What the provider's entry says of this very error (`isTransient`). */
  readonly override?: boolean;
}

export type FailureClass = 'transient' | 'quota' | 'overflow' | 'reply-limit' | 'authentication' | 'final';

const quota =
  /insufficient.?(quota|funds|credit|balance)|billing|payment.?required|credit.?(balance|limit|exhausted)|(out of|no) credits|spend(ing)?.?limit|usage.?limit|(account|organi[sz]ation) (is |has been )?(inactive|suspended|deactivated|disabled)|account_deactivated|quota.?(is )?(exceeded|exhausted)|exceeded your (current )?quota/i;
const overflow =
  /prompt is too long|(?<!less than the `?)context.?(window|length|limit|size)|maximum (context|prompt)|input (is too long|token count)|(prompt|input) exceeds|too many (input )?tokens/i;
const replyLimit =
  /(?=.*max_?(completion_?|output_?|new_?)?tokens)(?=.*(too (large|high|big)|exceed|at most|maximum|less than|greater than|range|[<>]=? ?\d))/is;
const transientTypes =
  /overloaded|rate.?limit|too.?many.?requests|server.?error|internal|api_error|unavailable|timed?.?out|resource.?exhausted|deadline/i;
const authenticationTypes = /authentication|permission|unauthori[sz]ed|invalid.?api.?key/i;
const transientCodes =
  /^(ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|ENETDOWN|EHOSTUNREACH|UND_ERR_(SOCKET|CLOSED|DESTROYED|\w+_TIMEOUT|RES_CONTENT_LENGTH_MISMATCH|RESPONSE)|HPE_\w+|ERR_HTTP2_\w+|ERR_STREAM_PREMATURE_CLOSE)$/;
const transientText =
  /rate.?limit|overloaded|unavailable|timed? ?out|bad gateway|too many requests|connection (was )?(reset|closed|lost|error)|socket hang up|terminated|other side closed|fetch failed|network error/i;

/** The rows of E-205 in order; the first that matches decides. */
export function classifyFailure(facts: FailureFacts): FailureClass {
  const { status = 0, providerType = '', providerCode = '' } = facts;
  // Some point to their billing page whatever the fault is.
  const message = facts.message.replaceAll(/https?:\S+/g, '');
  const types = `${providerType} ${providerCode}`;
  const named = `${types} ${message}`;
  if (facts.override !== undefined) return facts.override ? 'transient' : 'final';
  if (facts.own !== undefined) return 'transient';
  if (status === 402 || quota.test(named)) return 'quota';
  // "Too many tokens" behind a 429 is about a minute, not about the window.
  if (status !== 429 && overflow.test(named)) return 'overflow';
  if (status < 500 && status !== 429 && replyLimit.test(message)) return 'reply-limit';
  if (facts.inStream && transientTypes.test(types)) return 'transient';
  if (status >= 400) return byStatus(status, facts.shouldRetry);
  if (facts.inStream && authenticationTypes.test(types)) return 'authentication';
  if (facts.causeCodes?.some((code) => transientCodes.test(code))) return 'transient';
  return transientText.test(named) ? 'transient' : 'final';
}

function byStatus(status: number, shouldRetry: boolean | undefined): FailureClass {
  const transient = status === 408 || status === 425 || status === 429 || status >= 500;
  if (shouldRetry ?? transient) return 'transient';
  return status === 401 || status === 403 ? 'authentication' : 'final';
}

/**
 * The reply limit that a provider states in its refusal of `asked` tokens: the largest number below what was asked for.
 * Null: it states none (E-211).
 */
export function statedReplyLimit(message: string, asked: number): number | null {
  const stated = [...message.matchAll(/(?<![\w.-])(\d[\d,_]*)(?![\w-])(\D{0,3}exclusive)?/g)].map(
    ([, digits = '', exclusive]) => Number(digits.replaceAll(/[,_]/g, '')) - (exclusive === undefined ? 0 : 1),
  );
  const most = Math.max(0, ...stated.filter((limit) => limit < asked));
  return most < 16 ? null : most;
}

/** Longer than any wait means; a date of it can still be written. */
const longestWaitMs = 10 * 365 * 86_400_000;

/**
 * How long the server asked us to wait, in ms; null when it did not say or cannot be read. The first source that can be
 * read decides: `retry-after-ms`; `retry-after` in seconds, or as a date against the response's own `date` (absent: `nowMs`);
 * then `error.retry_after`, `retry_after` and an RPC `RetryInfo` in the body. A past date is 0 (E-203).
 */
export function retryAfterMs(
  answer: { readonly headers: Readonly<Record<string, string>>; readonly body: JsonObject; readonly nowMs: number },
  parseDate: (text: string) => number | null,
): number | null {
  const { headers, body } = answer;
  const named = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const error = isJsonObject(body['error']) ? body['error'] : {};
  const ms =
    asCount(named.get('retry-after-ms')) ??
    inMs(asCount(named.get('retry-after'))) ??
    untilDate(named, answer.nowMs, parseDate) ??
    inMs(asCount(error['retry_after'])) ??
    inMs(asCount(body['retry_after'])) ??
    inMs(retryDelay(error['details'] ?? body['details']));
  return ms === null ? null : Math.min(ms, longestWaitMs);
}

function untilDate(
  headers: ReadonlyMap<string, string>,
  nowMs: number,
  parseDate: (text: string) => number | null,
): number | null {
  const text = headers.get('retry-after') ?? '';
  // Date parsers make a date of nearly everything, such as of `-5`.
  const at = /^\s*[a-z]{3,9},? .*\d:\d/i.test(text) ? parseDate(text) : null;
  return at === null ? null : Math.max(0, at - (parseDate(headers.get('date') ?? '') ?? nowMs));
}

function retryDelay(details: JsonValue | undefined): number | null {
  const delays = (Array.isArray(details) ? details : []).map((each) =>
    isJsonObject(each) ? each['retryDelay'] : null,
  );
  const text = delays.find((delay) => typeof delay === 'string');
  return asCount(/^(.*)s$/.exec(text ?? '')?.[1]);
}

function asCount(value: JsonValue | undefined): number | null {
  if (typeof value === 'number') return value >= 0 ? value : null;
  return typeof value === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : null;
}

function inMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}
