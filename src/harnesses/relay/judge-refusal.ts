import { classifyFailure, retryAfterMs, type FailureClass } from '../../core/provider-failure.ts';
import { errorIn } from './observe/fields.ts';
import { isJsonObject, parsedOrText } from '../../core/json.ts';
import type { RelayError } from './relay-fact.ts';

export interface ProviderRefusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Judgement {
  readonly error: RelayError;
  readonly retryAfterMs: number | null;
  readonly failure: FailureClass;
  /** Asking again cannot help before somebody has done something, or not in a time that a turn may take (H-204). */
  readonly isFinal: boolean;
}

/** A longer wait than a turn may take (E-202). */
const longestWaitMs = 60_000;

/** An error status of a provider, read for what it means to the runtime. */
export function judgeRefusal({ status, headers, text }: ProviderRefusal, nowMs: number): Judgement {
  const value = parsedOrText(text);
  // Google wraps the error of a stream in a list.
  const first = Array.isArray(value) ? value[0] : value;
  const body = isJsonObject(first) ? first : {};
  const error = errorIn(body) ?? { type: null, message: text };
  const inner = isJsonObject(body['error']) ? body['error'] : body;
  const code = inner['code'];
  const waitMs = retryAfterMs({ headers, body, nowMs }, parseDate);
  const failure = classifyFailure({
    status,
    message: error.message,
    ...(error.type === null ? {} : { providerType: error.type }),
    ...(typeof code === 'string' ? { providerCode: code } : {}),
    // Google says "quota" of a limit per minute, too; only the limit's name tells the two apart.
    ...(text.includes('PerMinute') && !text.includes('PerDay') ? { override: true } : {}),
  });
  return { error, retryAfterMs: waitMs, failure, isFinal: failure === 'quota' || (waitMs ?? 0) > longestWaitMs };
}

function parseDate(text: string): number | null {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
