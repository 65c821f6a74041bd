// Errors own their code, status and two audiences: `message` is one sentence that is safe to show to the caller (U-052);
// what only the operator may see is data of the error and its `cause`, and goes to the log under the request id.

import type { JsonObject } from './json.ts';
import type { RunId, SessionId } from './ids.ts';

/** Root of all errors that Reins throws on purpose. `type` is the class name, the same in every driver (E-070). */
export class ReinsError extends Error {
  get retryable(): boolean {
    return false;
  }
  get type(): string {
    return this.constructor.name;
  }
  override get name(): string {
    return this.constructor.name;
  }
}

/** What went wrong may go well when it is tried again. */
class PassingError extends ReinsError {
  override get retryable(): boolean {
    return true;
  }
}

/** A policy, setting or call that can never work. Thrown where it is given, never later (E-020). */
export class ConfigurationError extends ReinsError {}

/** Use after close, or a verb in the wrong state. */
export class RuntimeStateError extends ReinsError {}

/** A harness broke its contract: an event that is not its to write, an end that is none (P-071). */
export class AdapterProtocolError extends ReinsError {}

/** A cursor that is malformed, of another run, or ahead of its log (E-054). */
export class CursorError extends ReinsError {}

/** A recovery was asked for a call that no run knows (E-543). */
export class UnknownExecutionKey extends ReinsError {
  readonly executionKey: string;
  constructor(executionKey: string) {
    super('No call of that key waits for a word on its outcome.');
    this.executionKey = executionKey;
  }
}

/** The store could not read or write. */
export class StorageError extends PassingError {}

/** The store is away: it is as it was, and may be asked again. */
export function isOutage(cause: unknown): boolean {
  return cause instanceof StorageError && cause.retryable;
}

/** Trying again is in vain. */
class FinalStorageError extends StorageError {
  override get retryable(): boolean {
    return false;
  }
}

/** What is stored cannot be read any more, however often it is tried (E-804). */
export class DamageError extends FinalStorageError {}

/** What was to be written cannot be stored, however often it is tried; what others write can. */
export class RefusedEntryError extends FinalStorageError {}

/** A working directory cannot be made or used, or is not what it was. */
export class FolderError extends FinalStorageError {}

/** A write was refused by the fence: this process no longer owns the run (E-801). */
export class LeaseLostError extends FinalStorageError {
  readonly runId: RunId;
  constructor(runId: RunId) {
    super('Another process has taken this run over.');
    this.runId = runId;
  }
}

/** The database was written by a newer Reins (E-804). */
export class SchemaError extends FinalStorageError {}

/** A model stream stalled, or ended without the provider's own end mark (E-301, E-306). */
export class IncompleteStreamError extends PassingError {
  readonly how: 'stalled' | 'incomplete';
  constructor(how: 'stalled' | 'incomplete', message: string) {
    super(message);
    this.how = how;
  }
}

/** A reply whose structure is broken, such as two calls with one id (E-307). */
export class MalformedReplyError extends PassingError {}

/** A model call passed its whole-call limit (E-304). */
export class CallTimeoutError extends PassingError {}

/** Thrown by a tool's author: the call failed for now and may be tried again (E-544). */
export class TransientToolError extends PassingError {}

export type RequestErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'harness_error'
  | 'server_error';

export interface RequestErrorFacts {
  readonly status: number;
  readonly errorType: RequestErrorType;
  readonly code: string;
  /** One sentence, safe to show. */
  readonly message: string;
  /** Dotted path of the field at fault. */
  readonly param?: string;
  readonly detail?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** A request that is refused: thrown anywhere below the door, written as the envelope of U-050 at one place. */
export class RequestError extends ReinsError {
  readonly status: number;
  readonly errorType: RequestErrorType;
  readonly code: string;
  readonly param: string | null;
  readonly detail: JsonObject | null;
  readonly headers: Readonly<Record<string, string>>;
  constructor(facts: RequestErrorFacts) {
    super(facts.message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.status = facts.status;
    this.errorType = facts.errorType;
    this.code = facts.code;
    this.param = facts.param ?? null;
    this.detail = facts.detail ?? null;
    this.headers = facts.headers ?? {};
  }
}

/** 400 `invalid_input`: a body or field of the wrong shape. `message` says how to fix it. */
export class InvalidInputError extends RequestError {
  constructor(message: string, param?: string) {
    const where = param === undefined ? {} : { param };
    super({ status: 400, errorType: 'invalid_request_error', code: 'invalid_input', message, ...where });
  }
}

const notFoundCodes = {
  harness: 'harness_not_found',
  response: 'response_not_found',
  session: 'session_not_found',
  file: 'file_not_found',
  approval: 'reins_approval_not_found',
  rule: 'reins_rule_not_found',
  message: 'reins_message_not_found',
  skill: 'reins_skill_not_found',
  share: 'reins_share_not_found',
  key: 'reins_key_not_found',
  webhook: 'reins_webhook_not_found',
  plugin: 'plugin_not_found',
} as const;

/** 404 for an object that is unknown, deleted, or another principal's: the three are not told apart (U-042). */
export class NotFoundError extends RequestError {
  constructor(object: keyof typeof notFoundCodes, param?: string) {
    super({
      status: 404,
      errorType: 'invalid_request_error',
      code: notFoundCodes[object],
      message: `There is no such ${object}.`,
      ...(param === undefined ? {} : { param }),
    });
  }
}

/**
 * 409 `session_busy`: one task at a time in a session (U-353). Thrown by the library as well, where it is a call that came
 * too early; when the session will be free cannot be told. The ids are data for the log.
 */
export class SessionBusyError extends RequestError {
  readonly sessionId: SessionId;
  /** The run that is at work in it; null: it is not known any more. */
  readonly runId: RunId | null;
  constructor(sessionId: SessionId, runId: RunId | null) {
    super({
      status: 409,
      errorType: 'invalid_request_error',
      code: 'session_busy',
      message: 'This session is still working on its previous task; wait for it to end or cancel it.',
      param: 'previous_response_id',
    });
    this.sessionId = sessionId;
    this.runId = runId;
  }
}

/** 409 `harness_mismatch`: a session keeps the harness it began with (U-222). */
export class HarnessMismatchError extends RequestError {
  constructor() {
    super({
      status: 409,
      errorType: 'invalid_request_error',
      code: 'harness_mismatch',
      message: 'This session belongs to another harness; leave metadata.harness_id out or start a new session.',
      param: 'metadata.harness_id',
    });
  }
}

/** 422 `model_unavailable`: the model cannot be served for this harness now (U-230). */
export class ModelUnavailableError extends RequestError {
  /** @param of  What stands in the way: the model, or all of its harness. */
  constructor(reason: string, of: 'model' | 'harness' = 'model') {
    super({
      status: 422,
      errorType: 'invalid_request_error',
      code: 'model_unavailable',
      message:
        of === 'model' ? `This model cannot be served here: ${reason}` : `This harness cannot work here: ${reason}`,
      param: of === 'model' ? 'model' : 'metadata.harness_id',
    });
  }
}

/** 429 `rate_limited`: a cap of the principal is reached; it opens again by itself (UR-53). */
export class RateLimitedError extends RequestError {
  /** @param retryAfterMs  Null where it cannot be told: a task has to end first. */
  constructor({ cap, retryAfterMs }: { readonly cap: string; readonly retryAfterMs: number | null }) {
    const seconds = Math.max(1, Math.ceil((retryAfterMs ?? 5_000) / 1_000));
    super({
      status: 429,
      errorType: 'rate_limit_error',
      code: 'rate_limited',
      message: 'You have as many tasks under way as you may have; try again later.',
      detail: { cap },
      headers: { 'Retry-After': String(seconds) },
    });
  }
}

/** 409 `reins_approval_conflict`: something else was decided before (E-602). `approval` is the stored record. */
export class ApprovalConflictError extends RequestError {
  constructor(approval: JsonObject) {
    super({
      status: 409,
      errorType: 'invalid_request_error',
      code: 'reins_approval_conflict',
      message: 'Another decision was stored before this one; detail.approval has it.',
      detail: { approval },
    });
  }
}

/** 409 `reins_approval_closed`: expired, cancelled, its task ended, or other arguments were asked for (E-602, E-603). */
export class ApprovalClosedError extends RequestError {
  constructor(approval: JsonObject, why: 'closed' | 'digest') {
    super({
      status: 409,
      errorType: 'invalid_request_error',
      code: 'reins_approval_closed',
      message:
        why === 'closed'
          ? 'Nobody can decide this any more; detail.approval says why.'
          : 'The arguments differ from those this decision was made for; detail.approval has them.',
      ...(why === 'closed' ? {} : { param: 'arguments_digest' }),
      detail: { approval },
    });
  }
}

/** 409 `reins_task_ended`: there is nobody left to read a message; nothing was taken in (E-661). */
export class TaskEndedError extends RequestError {
  constructor() {
    super({
      status: 409,
      errorType: 'invalid_request_error',
      code: 'reins_task_ended',
      message: 'This task has ended; go on with a new one in its session.',
    });
  }
}

/** 409 `reins_idempotency_conflict`: a message id was used before, for something else (UR-33). */
export class IdempotencyConflictError extends RequestError {
  constructor(param: string) {
    super({
      status: 409,
      errorType: 'invalid_request_error',
      code: 'reins_idempotency_conflict',
      message: 'This id was used before, with another content; give a new message a new id.',
      param,
    });
  }
}

/** 422 `reins_capability_unsupported`: the harness cannot do this at all (P-070). */
export class CapabilityUnsupportedError extends RequestError {
  readonly what: string;
  /** @param what  It cannot do, behind "the harness". */
  constructor(what: string) {
    super({
      status: 422,
      errorType: 'invalid_request_error',
      code: 'reins_capability_unsupported',
      message: `The harness of this task ${what}.`,
    });
    this.what = what;
  }
}

/** 404 `session_expired`: past its retention, with nothing left to go on with (UD-61). */
export class SessionExpiredError extends RequestError {
  constructor(param?: string) {
    super({
      status: 404,
      errorType: 'invalid_request_error',
      code: 'session_expired',
      message: 'This session is past its retention; start a new one.',
      ...(param === undefined ? {} : { param }),
    });
  }
}
