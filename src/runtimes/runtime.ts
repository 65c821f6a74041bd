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
  readonly runId?: string;
  readonly sessionId?: string;
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
  readonly remember?: Remember;
}

export interface CloseOptions {
  readonly drainMs?: number;
}

/** Durable runs: they go on without their caller, survive their process, and wait for people (E chapter 1.3). */
export interface Runtime extends AsyncDisposable {
  run(input: RunInput, options?: DurableRunOptions): Promise<RunResult>;
  /** An observer: leaving it never stops the run (E-035). */
  runStream(input: RunInput, options?: DurableRunOptions & Pick<EventsOptions, 'children'>): RunStream;
  streamText(input: RunInput, options?: DurableRunOptions & TextOptions): TextStream;
  /** Returns once the run is durably admitted (E-050). */
  submit(input: RunInput, options?: DurableRunOptions): Promise<RunHandle>;
  handle(runId: string): Promise<RunHandle>;
  /** Its iteration throws a `CursorError` where `after` is malformed, of another run, or ahead of the log (E-054). */
  events(runId: string, options?: EventsOptions): Promise<RunStream>;
  /** The place behind an event of a run, for `events({ after })`. */
  cursor(event: Pick<RunEvent, 'runId' | 'seq'>): string;
  /** Goes on with a paused run; null for one that is at work, waits for a person, or is over. */
  resume(runId: string): Promise<RunHandle | null>;
  /** A new run in the session of a failed one, which has to be its newest, from what was said before (E-052). */
  retry(failedRunId: string): Promise<RunHandle>;
  /** What runs is let end; then nothing happens until `resume` (E-819). */
  pause(runId: string): Promise<void>;
  /** With all that works for it. Answers within a second; a run that is still stopping is `running` (E-812). */
  cancel(runId: string): Promise<RunStatus>;
  /** Shortens the conversation before the next step (E-440). @throws RuntimeStateError  The run is not at work here. */
  compact(runId: string, request?: { readonly instructions?: string }): Promise<void>;
  /** `steer`: read at the next step of a run at work. `follow-up`: a run of its own behind what its session works on. */
  send(
    target: { readonly runId: string } | { readonly sessionId: string },
    message: InputMessage,
    options: { readonly mode: 'steer' | 'follow-up' },
  ): Promise<{ readonly messageId: string }>;
  readonly queue: {
    list(sessionId: string): Promise<Queue>;
    remove(sessionId: string, messageId: string): Promise<void>;
    /** After a failed or cancelled run the queue is held until this (E-664). */
    resume(sessionId: string): Promise<void>;
  };
  readonly approvals: {
    list(filter?: PendingFilter): Promise<readonly ApprovalRecord[]>;
    get(id: string): Promise<ApprovalRecord>;
    decide(id: string, decision: Decision): Promise<ApprovalRecord>;
    answer(id: string, answers: readonly Answer[] | 'declined'): Promise<ApprovalRecord>;
  };
  readonly rules: {
    list(filter?: { readonly sessionId?: string }): Promise<readonly RuleRecord[]>;
    revoke(id: string): Promise<void>;
  };
  readonly recovery: {
    /** Calls whose outcome is unknown (E-541). */
    list(filter?: Omit<PendingFilter, 'kind'>): Promise<readonly ApprovalRecord[]>;
    resolve(
      executionKey: string,
      how: { readonly result: { readonly content: string; readonly isError?: boolean } } | 'retry' | 'abort',
    ): Promise<ApprovalRecord>;
  };
  readonly runs: {
    get(runId: string): Promise<RunRecord>;
    list(filter: { readonly sessionId: string }): Promise<readonly RunRecord[]>;
  };
  readonly closed: boolean;
  /**
   * Takes nothing more, lets what runs end for `drainMs` (absent: 10,000), and leaves the rest, in order, to another process
   * or the next start (E-834).
   */
  close(options?: CloseOptions): Promise<void>;
}
