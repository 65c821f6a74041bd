// What kind of fault a model call met: decided here for the engine and for every adapter alike (E-205). Pure: the caller
// brings the facts out of whatever error its client threw.

import type { ResetReason } from './run-event.ts';

export interface FailureFacts {
  readonly message: string;
  /** HTTP status; absent when none came. Not trusted when `inStream`: such a stream began with 200 (E-206). */
  readonly status?: number;
  /** Error type or code that the provider named, such as `overloaded_error`. */
  readonly providerType?: string;
  /** Named by an error event inside a stream that began with 200. */
  readonly inStream?: boolean;
  /** Codes of the cause chain, such as `ECONNRESET`. */
  readonly causeCodes?: readonly string[];
  /** The provider's own word on retrying (`x-should-retry`). */
  readonly shouldRetry?: boolean;
  /** Set by our own watches: already known to be transient. */
  readonly own?: Exclude<ResetReason, 'transient-error'>;
}

export type FailureClass = 'transient' | 'quota' | 'overflow' | 'authentication' | 'final';

const quota =
  /insufficient.?quota|billing|payment required|credit (balance|exhausted)|out of credits|spending limit|usage.?limit|account (is )?(inactive|suspended)|quota (is )?(exceeded|exhausted)/i;
const overflow =
  /prompt is too long|context.?(window|length)|maximum context|too many (input )?tokens|input is too long/i;
const transientTypes =
  /overloaded|rate.?limit|server.?error|internal.?error|api_error|unavailable|timeout|timed.?out|resource.?exhausted|deadline/i;
const transientCodes =
  /^(ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_\w+|HPE_\w+)$/;
const transientText =
  /rate.?limit|overloaded|unavailable|timed? ?out|bad gateway|too many requests|connection (was )?(reset|closed|lost|error)|socket hang up|terminated|other side closed|fetch failed|network error/i;

/** The rows of E-205 in order; the first that matches decides. */
export function classifyFailure(facts: FailureFacts): FailureClass {
  const { status, message } = facts;
  const named = `${facts.providerType ?? ''} ${message}`;
  if (facts.own !== undefined) return 'transient';
  if (quota.test(named) || status === 402) return 'quota';
  if (overflow.test(named)) return 'overflow';
  if (facts.inStream) return transientTypes.test(named) || transientText.test(message) ? 'transient' : 'final';
  if (facts.shouldRetry !== undefined && status !== undefined) return facts.shouldRetry ? 'transient' : 'final';
  if (status !== undefined && status !== 200) return byStatus(status);
  if (facts.causeCodes?.some((code) => transientCodes.test(code))) return 'transient';
  return transientText.test(named) ? 'transient' : 'final';
}

function byStatus(status: number): FailureClass {
  if (status === 408 || status === 425 || status === 429 || status >= 500) return 'transient';
  return status === 401 || status === 403 ? 'authentication' : 'final';
}

/**
 * How long the server asked us to wait, in ms; null when it did not say or cannot be read. First hit wins: `retry-after-ms`,
 * `retry-after` in seconds or as a date against the response's own `date`, then the body's `retry_after` seconds (E-203).
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  body: { readonly retryAfterSeconds?: number },
  parseDate: (text: string) => number | null,
): number | null {
  const named = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const inMs = asCount(named.get('retry-after-ms'));
  if (inMs !== null) return inMs;
  const text = named.get('retry-after');
  const inSeconds = asCount(text);
  if (inSeconds !== null) return inSeconds * 1000;
  const at = text === undefined ? null : parseDate(text);
  const sentAt = parseDate(named.get('date') ?? '');
  if (at !== null && sentAt !== null) return Math.max(0, at - sentAt);
  return body.retryAfterSeconds === undefined || body.retryAfterSeconds < 0 ? null : body.retryAfterSeconds * 1000;
}

function asCount(text: string | undefined): number | null {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null;
}
