import type { RunId, SessionId } from './ids.ts';
import type { PendingTool, Todo } from './run-event.ts';
import type { Usage } from './usage.ts';

export type RunStatus = 'running' | 'completed' | 'paused' | 'awaiting-input' | 'cancelled' | 'failed';
/** Statuses after which a log holds nothing more (E-122). */
export type FinalStatus = 'completed' | 'cancelled' | 'failed';

export type StopReason =
  | 'end-turn'
  | 'tool-use'
  | 'stop-sequence'
  | 'max-tokens'
  | 'refusal'
  | 'safety'
  | 'pause-turn'
  | 'other'
  | 'empty-reply'
  | 'max-steps'
  | 'max-cost'
  | 'max-total-tokens'
  | 'max-time'
  | 'loop'
  | 'cancelled';

/** Why a run failed (E-070): the same words in all drivers. Who is at fault by each stands in `views/uhp-status.ts`. */
export type RunErrorType =
  | 'AdapterOverflowError'
  | 'AdapterProtocolError'
  | 'AgentUnavailableError'
  | 'AuthenticationError'
  | 'CallTimeoutError'
  | 'ContextOverflowError'
  | 'HarnessError'
  | 'IncompleteStreamError'
  | 'LeaseLostError'
  | 'MaxStepsError'
  | 'ProviderError'
  | 'QuotaExhaustedError'
  | 'RecoveryExhaustedError'
  | 'StorageError'
  | 'ToolProtocolError';

/** `message` is safe to show. */
export interface ErrorInfo {
  readonly type: RunErrorType;
  readonly message: string;
  readonly retryable: boolean;
  readonly provider?: string;
  readonly model?: string;
  readonly status?: number;
  /** What led to it, outermost first; names and sentences that are safe to show. */
  readonly causes?: readonly { readonly type: string; readonly message: string }[];
}

export interface ModelRef {
  readonly provider: string;
  readonly model: string;
}

/** The data of `run-result`: equal, field by field, to the fold of the log before it (E-134). Times are Unix ms. */
export interface RunResultData {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly requestId: string | null;
  readonly status: RunStatus;
  readonly stopReason: StopReason | null;
  /** The final answer, pieces joined; text of earlier calling turns is not in it (E-061). */
  readonly output: string;
  /** Text shown for an answer that was never completed. */
  readonly partialOutput: string | null;
  readonly usage: Usage | null;
  readonly usageIncomplete: boolean;
  /** `estimated`: the price is a guess, or the usage is not whole. Null dollars: no usage is known. */
  readonly cost: { readonly dollars: number | null; readonly estimated: boolean };
  readonly error: ErrorInfo | null;
  /** What waits for a person; after a cancel also calls whose outcome is unknown (E-818). */
  readonly pending: readonly PendingTool[];
  /** The task list, whole; null when none was ever made. */
  readonly todos: readonly Todo[] | null;
  readonly steps: number;
  readonly attempts: number;
  readonly model: {
    readonly requested: ModelRef;
    readonly served: ModelRef | null;
    readonly fallback: boolean;
    readonly reason: string | null;
  };
  /** Ids of steering messages that no step took in (E-665). */
  readonly undelivered: readonly string[];
  /** What a cancel could not stop, in words (E-817). */
  readonly unstopped: readonly string[];
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

const limitReasons: ReadonlySet<StopReason | null> = new Set<StopReason | null>([
  'max-steps',
  'max-cost',
  'max-total-tokens',
  'max-time',
  'loop',
]);

export type Verdict =
  | 'ok'
  | 'truncated'
  | 'refused'
  | 'limited'
  | 'unfinished'
  | 'failed'
  | 'needs-input'
  | 'cancelled'
  | 'running';

/** How a result is to be read: the predicates of E-060 as one word. */
export function verdictOf(result: Pick<RunResultData, 'status' | 'stopReason'>): Verdict {
  switch (result.status) {
    case 'failed':
    case 'cancelled':
    case 'running':
      return result.status;
    case 'awaiting-input':
    case 'paused':
      return 'needs-input';
    case 'completed':
      if (result.stopReason === 'max-tokens') return 'truncated';
      if (result.stopReason === 'refusal' || result.stopReason === 'safety') return 'refused';
      if (limitReasons.has(result.stopReason)) return 'limited';
      if (result.stopReason === 'pause-turn' || result.stopReason === 'empty-reply') return 'unfinished';
      return 'ok';
  }
}
