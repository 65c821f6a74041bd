// One request and its answer.
//
// T1. Every request says which version it speaks; an answer that names another one is not read (U-445). Browsers hide the
//     header from pages of other origins, so that its absence says nothing.
// T2. A redirect is never followed: the protocol has none (U-087), and the key would travel along.
// T3. A body is parsed only when the status is known (B060), and what is no JSON under a good status is a fault of its own.

import { ConnectionError, IdempotencyMismatchError, ProtocolError } from './errors.ts';
import { errorOfAnswer } from './error-of-answer.ts';
import { retrying, type Patience } from './retrying.ts';
import { settleWithin } from './settle-within.ts';

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Made by `path`. */
  readonly path: string;
  /** What is undefined is left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  /** Sent as JSON, but for a form. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Whether doing it twice is as good as once. Absent: all but a POST. */
  readonly repeatable?: boolean;
  /** A path beside the protocol, which is not chosen by its version. */
  readonly unversioned?: boolean;
  /** Absent: the client's `timeoutMs`. Null: as long as it takes. */
  readonly timeoutMs?: number | null;
}

export interface TransportSettings extends Patience {
  readonly url: string;
  readonly key: string | null;
  readonly version: string;
  readonly fetch: typeof fetch;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface Transport {
  /** Tried once. @throws UhpError  Whatever is not 2xx. */
  readonly send: (call: Call) => Promise<Response>;
  /** Tried again where that may help; the body is the caller's to read. */
  readonly open: (call: Call) => Promise<Response>;
  /** The same, with the body read and parsed. */
  readonly json: <T>(call: Call) => Promise<T>;
}

/** A path whose parts cannot break out of their places. */
export function path(texts: TemplateStringsArray, ...parts: readonly string[]): string {
  return texts.reduce((whole, text, index) => `${whole}${encodeURIComponent(parts[index - 1] ?? '')}${text}`);
}

export function createTransport(settings: TransportSettings): Transport {
  const { clock } = settings;
  const send = async (call: Call) => {
    const response = await reach(settings, call);
    const version = response.headers.get('UHP-Version');
    if (!response.ok) throw await errorOfAnswer(response, clock.now());
    if (version !== null && version !== settings.version && call.unversioned !== true)
      throw new ProtocolError(`The server answered in version ${version}, not in ${settings.version}.`);
    if (response.headers.get('Reins-Idempotency-Mismatch') === 'true') {
      response.body?.cancel().catch(() => undefined);
      throw new IdempotencyMismatchError(response.headers.get('X-Request-Id'));
    }
    return response;
  };
  const attempt = <T>(call: Call, read: (response: Response) => Promise<T>) => {
    const { repeatable = call.method !== 'POST', timeoutMs = settings.timeoutMs } = call;
    return retrying(settings, { repeatable, signal: call.signal }, async () => {
      const own = new AbortController();
      const signal = call.signal === undefined ? own.signal : AbortSignal.any([own.signal, call.signal]);
      const work = send({ ...call, signal }).then(read);
      try {
        return await settleWithin(work, { clock, ms: timeoutMs, signal: call.signal });
      } catch (error) {
        own.abort(error);
        throw error;
      }
    });
  };
  return {
    send,
    open: (call) => attempt(call, async (response) => response),
    json: <T>(call: Call) => attempt(call, readJson<T>),
  };
}

async function reach({ fetch, ...settings }: TransportSettings, call: Call): Promise<Response> {
  const { method = 'GET', body, signal } = call;
  const isJson = body !== undefined && !(body instanceof FormData);
  const init: RequestInit = {
    method,
    headers: {
      ...(settings.key === null ? {} : { Authorization: `Bearer ${settings.key}` }),
      'UHP-Version': settings.version,
      ...(isJson ? { 'Content-Type': 'application/json' } : {}),
      ...settings.headers,
      ...call.headers,
    },
    redirect: 'error',
    ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  };
  try {
    return await fetch(settings.url + call.path + queryOf(call.query), init);
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ConnectionError(cause, settings.url);
  }
}

function queryOf(query: Call['query'] = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) given.set(name, String(value));
  const text = given.toString();
  return text === '' ? '' : `?${text}`;
}

/** @throws ConnectionError, ProtocolError */
export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text().catch((cause: unknown) => {
    throw new ConnectionError(cause);
  });
  try {
    const value: T = JSON.parse(text);
    return value;
  } catch (cause) {
    throw new ProtocolError('The server answered with something that is not JSON.', cause);
  }
}
