// What a call can throw. A failed task is no error but a result; a request that was refused, or never answered, is one.
//
// An error is known by a mark that two copies of this package share, and so is `instanceof`: the console may bundle its own.

import type { JsonObject } from '../core/json.ts';

const kinds: unique symbol = Symbol.for('reins.client.error');

export interface UhpErrorFacts {
  readonly type: string;
  readonly code: string;
  /** One sentence, safe to show (U-052). */
  readonly message: string;
  /** Of the HTTP answer; absent: there was none. */
  readonly status?: number;
  readonly param?: string | null;
  readonly detail?: JsonObject | null;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | null;
  readonly cause?: unknown;
}

/** Root of all of them. An unknown `code` is to be taken for its `type` (U-058). */
export class UhpError extends Error {
  static readonly kind: string = 'UhpError';
  readonly [kinds]: readonly string[];
  readonly type: string;
  readonly code: string;
  readonly status: number | null;
  readonly param: string | null;
  readonly detail: JsonObject | null;
  /** Under which the server logged it. */
  readonly requestId: string | null;
  /** What the server asked to wait before another try; null: it did not say. */
  readonly retryAfterMs: number | null;

  constructor(facts: UhpErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this[kinds] = kindsOf(new.target);
    this.type = facts.type;
    this.code = facts.code;
    this.status = facts.status ?? null;
    this.param = facts.param ?? null;
    this.detail = facts.detail ?? null;
    this.requestId = facts.requestId ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
  }

  override get name(): string {
    return this[kinds][0] ?? UhpError.kind;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== 'object' || value === null || !(kinds in value)) return false;
    return Array.isArray(value[kinds]) && value[kinds].includes(this.kind);
  }
}

function kindsOf(own: object): readonly string[] {
  const found: string[] = [];
  for (let target = own; 'kind' in target && typeof target.kind === 'string'; target = Object.getPrototypeOf(target))
    found.push(target.kind);
  return found;
}

/** The request is wrong; the same again fails again. */
export class InvalidRequestError extends UhpError {
  static override readonly kind: string = 'InvalidRequestError';
}

/** No key, or one that is not known. */
export class AuthenticationError extends UhpError {
  static override readonly kind: string = 'AuthenticationError';
}

/** A key that may not do this kind of thing. */
export class PermissionError extends UhpError {
  static override readonly kind: string = 'PermissionError';
}

/** Unknown, deleted, expired, or another principal's: not told apart (U-042). */
export class NotFoundError extends UhpError {
  static override readonly kind: string = 'NotFoundError';
}

/** 409. */
export class ConflictError extends UhpError {
  static override readonly kind: string = 'ConflictError';
}

/** The session is still at work; to be tried again when its task has ended (U-057). Never retried here. */
export class SessionBusyError extends ConflictError {
  static override readonly kind: string = 'SessionBusyError';
}

/** The idempotency key was used before, for a request with another body: the answer is that one's, not this one's (UD-11). */
export class IdempotencyMismatchError extends ConflictError {
  static override readonly kind: string = 'IdempotencyMismatchError';
  constructor(requestId: string | null) {
    super({
      type: 'invalid_request_error',
      code: 'reins_idempotency_conflict',
      message: 'This idempotency key belongs to another request; nothing was started.',
      param: 'Idempotency-Key',
      requestId,
    });
  }
}

/** Too fast, still after all retries. */
export class RateLimitError extends UhpError {
  static override readonly kind: string = 'RateLimitError';
}

/** A budget is spent: a retry does not help. */
export class QuotaError extends UhpError {
  static override readonly kind: string = 'QuotaError';
}

/** The server failed, still after all retries. */
export class ServerError extends UhpError {
  static override readonly kind: string = 'ServerError';
}

/** The server could not be reached, or the connection broke too often. A task that was started goes on. */
export class ConnectionError extends UhpError {
  static override readonly kind: string = 'ConnectionError';
  /** @param url  Of the server; absent or empty where it goes without saying. */
  constructor(cause: unknown, url = '') {
    const server = url === '' ? 'The server' : `The server at ${url}`;
    super({
      type: 'connection_error',
      code: 'connection_failed',
      message: `${server} could not be reached, or the connection broke.`,
      cause,
    });
  }
}

/** Nothing came for so long. Giving up is not a cancel: a task that was started goes on (U-446). */
export class TimeoutError extends UhpError {
  static override readonly kind: string = 'TimeoutError';
  constructor(ms: number) {
    super({
      type: 'connection_error',
      code: 'timed_out',
      message: `The server said nothing for ${ms / 1000} seconds.`,
    });
  }
}

/** What answered does not speak the protocol, or not this version of it. */
export class ProtocolError extends UhpError {
  static override readonly kind: string = 'ProtocolError';
  constructor(message: string, cause?: unknown) {
    super({ type: 'protocol_error', code: 'protocol_violated', message, cause });
  }
}

/** A value was asked of a task that has none: it did not complete. `code` is the task's status, or that of its error. */
export class NotCompletedError extends UhpError {
  static override readonly kind: string = 'NotCompletedError';
}
