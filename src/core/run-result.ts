import { ReinsError } from './errors.ts';
import { verdictOf, type RunResultData, type RunStatus, type StopReason, type Verdict } from './outcome.ts';

/** What a run came to, with the questions that one asks of it (E-060). A failed run is data, not an exception (E-022). */
export class RunResult implements RunResultData {
  declare readonly runId: RunResultData['runId'];
  declare readonly sessionId: RunResultData['sessionId'];
  declare readonly requestId: string | null;
  declare readonly status: RunStatus;
  declare readonly stopReason: StopReason | null;
  declare readonly output: string;
  declare readonly partialOutput: string | null;
  declare readonly usage: RunResultData['usage'];
  declare readonly usageIncomplete: boolean;
  declare readonly cost: RunResultData['cost'];
  declare readonly error: RunResultData['error'];
  declare readonly pending: RunResultData['pending'];
  declare readonly todos: RunResultData['todos'];
  declare readonly steps: number;
  declare readonly attempts: number;
  declare readonly model: RunResultData['model'];
  declare readonly undelivered: readonly string[];
  declare readonly unstopped: readonly string[];
  declare readonly startedAtMs: number;
  declare readonly endedAtMs: number;

  /** Behind its last event, of a run whose log lasts; for `events({ after })`. */
  readonly cursor: string | null;

  constructor(data: RunResultData, cursor: string | null = null) {
    Object.assign(this, data);
    this.cursor = cursor;
  }

  get #verdict(): Verdict {
    return verdictOf(this);
  }

  /** A whole answer. */
  get ok(): boolean {
    return this.#verdict === 'ok';
  }
  /** Cut at its token limit, after recovery ran out. */
  get truncated(): boolean {
    return this.#verdict === 'truncated';
  }
  /** Ended by a budget: steps, cost, tokens, time, or a loop. */
  get limited(): boolean {
    return this.#verdict === 'limited';
  }
  /** The model declined, or a filter stopped it. */
  get refused(): boolean {
    return this.#verdict === 'refused';
  }
  get failed(): boolean {
    return this.#verdict === 'failed';
  }
  /** Waits for an approval, an answer, or a word on an unknown outcome: `pending`. */
  get needsInput(): boolean {
    return this.status === 'awaiting-input';
  }

  /**
   * Itself, where it is a whole answer.
   * @throws RunTruncated, RunRefused, RunLimitReached, RunFailed, RunAwaitingInput, RunCancelled, or RunError for the rest.
   */
  raiseForStatus(): this {
    switch (this.#verdict) {
      case 'ok':
        return this;
      case 'truncated':
        throw new RunTruncated(this, 'The reply was cut at its token limit.');
      case 'refused':
        throw new RunRefused(this, 'The model declined to answer, or a filter stopped it.');
      case 'limited':
        throw new RunLimitReached(this);
      case 'failed':
        throw new RunFailed(this);
      case 'cancelled':
        throw new RunCancelled(this, 'The run was cancelled.');
      case 'needs-input':
        if (this.needsInput) throw new RunAwaitingInput(this);
        throw new RunError(this, 'The run is paused.');
      case 'unfinished':
      case 'running':
        throw new RunError(this, `The run gave no whole answer (${this.stopReason ?? this.status}).`);
    }
  }
}

/** A run that has no whole answer, thrown where an answer was asked for. */
export class RunError extends ReinsError {
  readonly result: RunResult;
  constructor(result: RunResult, message: string) {
    super(message);
    this.result = result;
  }
}

/** `error` is what the run failed with; its `message` is safe to show. */
export class RunFailed extends RunError {
  readonly error: NonNullable<RunResultData['error']>;
  constructor(result: RunResult) {
    const error = result.error ?? { type: 'HarnessError', message: 'The run failed.', retryable: false };
    super(result, error.message);
    this.error = error;
  }
  override get retryable(): boolean {
    return this.error.retryable;
  }
}

export class RunAwaitingInput extends RunError {
  readonly pending: RunResultData['pending'];
  constructor(result: RunResult) {
    const names = result.pending.map(({ call }) => call.name).join(', ');
    super(result, `The run waits for a person: ${names}.`);
    this.pending = result.pending;
  }
}

export class RunTruncated extends RunError {}
export class RunRefused extends RunError {}

/** `limit` names the budget: `max-steps`, `max-cost`, `max-total-tokens`, `max-time` or `loop`. */
export class RunLimitReached extends RunError {
  readonly limit: StopReason;
  constructor(result: RunResult) {
    super(result, `The run reached a limit (${result.stopReason ?? 'max-steps'}).`);
    this.limit = result.stopReason ?? 'max-steps';
  }
}

export class RunCancelled extends RunError {}
