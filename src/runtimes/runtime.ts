import type { Answer } from '../core/questions.ts';
import type { ApprovalRecord, RuleRecord, RunRecord } from '../stores/store.ts';
import type { DurableRunOptions } from './durable-admission.ts';
import type { EventsOptions } from './durable-events.ts';
import type { InputMessage, RunInput } from './run-input.ts';
import type { PendingTool, RunEvent } from '../core/run-event.ts';
import type { Queue } from '../tasks/queue-task.ts';
import type { Remember } from '../tasks/decide-approval.ts';
import type { RunHandle } from './durable-runs.ts';
import type { RunResult } from '../core/run-result.ts';
import type { RunStatus } from '../core/outcome.ts';
import type { RunStream } from './run-stream.ts';
import type { TextOptions, TextStream } from './text-stream.ts';

export interface PendingFilter {
  /** Absent: of all runs. */
  readonly runId?: string;
  /** Absent: of all sessions. */
  readonly sessionId?: string;
  /** Absent: all kinds. */
  readonly kind?: PendingTool['kind'];
  /** Absent: what is open. */
  readonly status?: PendingTool['status'] | 'open' | 'all';
  /** At most 1,000; absent: 100. */
  readonly limit?: number;
}

export interface Decision {
  readonly decision: 'approve' | 'deny';
  /** Of the arguments that were seen; another one is refused (E-603). */
  readonly argsDigest?: string;
  /** On a denial, for the model. */
  readonly note?: string;
  /** Makes a rule of it (E-609). Absent: it holds for this call alone. */
  readonly remember?: Remember;
}

export interface CloseOptions {
  readonly drainMs?: number;
}

/**
 * Durable runs: they go on without their caller, survive their process, and wait for people (E chapter 1.3).
 *
 * Every verb rejects with a `RuntimeStateError` once the runtime is closed, and with a `StorageError` where its store cannot
 * be read or written; one that names a run, session, approval or rule with a `NotFoundError` (`RequestError`, code
 * `…_not_found`) where that is not here.
 */
export interface Runtime extends AsyncDisposable {
  /** As `submit`, and waits. Never rejects because the run failed: that is data (E-022). */
  run(input: RunInput, options?: DurableRunOptions): Promise<RunResult>;
  /**
   * As `submit`, once it is read. An observer: leaving it never stops the run (E-035).
   * @throws RuntimeStateError  The runtime is closed.
   */
  runStream(input: RunInput, options?: DurableRunOptions & Pick<EventsOptions, 'children'>): RunStream;
  /** Throws a `RunError` at its end, where there is no whole answer (E-039). */
  streamText(input: RunInput, options?: DurableRunOptions & TextOptions): TextStream;
  /**
   * Returns once the run is durably admitted (E-050).
   * @throws ConfigurationError  No such agent, a model that cannot be served, a limit that can never be kept.
   * @throws SessionBusyError  Another run is at work in the session (E-023).
   * @throws IdempotencyConflictError  The `requestId` was used with another input.
   * @throws RuntimeStateError  `sessionId` is the id of a session that is not here.
   */
  submit(input: RunInput, options?: DurableRunOptions): Promise<RunHandle>;
  handle(runId: string): Promise<RunHandle>;
  /** Its iteration throws a `CursorError` where `after` is malformed, of another run, or ahead of the log (E-054). */
  events(runId: string, options?: EventsOptions): Promise<RunStream>;
  /** The place behind an event of a run, for `events({ after })`. */
  cursor(event: Pick<RunEvent, 'runId' | 'seq'>): string;
  /**
   * Goes on with a paused run; null for one that is at work, waits for a person, or is over.
   * @throws ConfigurationError  Its agent is not here, or has changed (E-053).
   */
  resume(runId: string): Promise<RunHandle | null>;
  /**
   * A new run in the session of a failed one, which has to be its newest, from what was said before (E-052).
   * @throws RuntimeStateError  It has not failed, or is a sub-agent's.
   * @throws RequestError  `reins_not_session_tip`: the session has gone on since. `SessionBusyError`
   */
  retry(failedRunId: string): Promise<RunHandle>;
  /**
   * What runs is let end, in sub-agents too; then nothing happens until `resume` (E-819). Changes nothing where it is over.
   * @throws RuntimeStateError  It is a sub-agent's: that is paused with the run it works for.
   */
  pause(runId: string): Promise<void>;
  /** With all that works for it. Answers within a second; a run that is still stopping is `running` (E-812). */
  cancel(runId: string): Promise<RunStatus>;
  /**
   * Shortens the conversation before the next step (E-440).
   * @throws RuntimeStateError  The run is not at work here, or a scheduler (Temporal) gives out its steps.
   */
  compact(runId: string, request?: { readonly instructions?: string }): Promise<void>;
  /**
   * `steer`: read at the next step of a run at work. `follow-up`: a run of its own behind what its session works on.
   * @throws RuntimeStateError  There is nobody left to read a steering message (E-661), or no such session.
   * @throws IdempotencyConflictError  The `messageId` was used for another message.
   */
  send(
    target: { readonly runId: string } | { readonly sessionId: string },
    message: InputMessage,
    options: { readonly mode: 'steer' | 'follow-up' },
  ): Promise<{ readonly messageId: string }>;
  readonly queue: {
    list(sessionId: string): Promise<Queue>;
    /** @throws NotFoundError  There is no such entry, or it has started. */
    remove(sessionId: string, messageId: string): Promise<void>;
    /** After a failed or cancelled run the queue is held until this (E-664). */
    resume(sessionId: string): Promise<void>;
  };
  readonly approvals: {
    /** Newest first; what a sub-agent asks once, as the request of the run it works for (E-612). */
    list(filter?: PendingFilter): Promise<readonly ApprovalRecord[]>;
    get(id: string): Promise<ApprovalRecord>;
    /**
     * The same again is a success (E-602).
     * @throws ApprovalConflictError  Something else was decided before.
     * @throws ApprovalClosedError  Nobody can decide it any more, or `argsDigest` is of other arguments.
     * @throws InvalidInputError  It is a question, or an unknown outcome.
     */
    decide(id: string, decision: Decision): Promise<ApprovalRecord>;
    /** @throws InvalidInputError  It is no question, or an answer does not fit. And as `decide` */
    answer(id: string, answers: readonly Answer[] | 'declined'): Promise<ApprovalRecord>;
  };
  readonly rules: {
    /** Remembered decisions, newest first. Absent: of all sessions. */
    list(filter?: { readonly sessionId?: string }): Promise<readonly RuleRecord[]>;
    revoke(id: string): Promise<void>;
  };
  readonly recovery: {
    /** Calls whose outcome is unknown (E-541). */
    list(filter?: Omit<PendingFilter, 'kind'>): Promise<readonly ApprovalRecord[]>;
    /** @throws UnknownExecutionKey  No run knows such a call (E-543). And as `approvals.decide` */
    resolve(
      executionKey: string,
      how: { readonly result: { readonly content: string; readonly isError?: boolean } } | 'retry' | 'abort',
    ): Promise<ApprovalRecord>;
  };
  readonly runs: {
    get(runId: string): Promise<RunRecord>;
    /** In their order; without those of sub-agents. Empty: there is no such session. */
    list(filter: { readonly sessionId: string }): Promise<readonly RunRecord[]>;
  };
  readonly closed: boolean;
  /**
   * Takes nothing more, lets what runs end for `drainMs` (absent: 10,000), and leaves the rest, in order, to another process
   * or the next start (E-834). Idempotent.
   */
  close(options?: CloseOptions): Promise<void>;
}
