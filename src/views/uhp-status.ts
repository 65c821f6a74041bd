import type { ErrorInfo, RunResultData, StopReason } from '../core/outcome.ts';
import { verdictOf } from '../core/outcome.ts';
import type { ErrorBody } from '../protocol/uhp/error.ts';
import type { IncompleteReason, ResponseStatus, UhpUsage } from '../protocol/uhp/response.ts';
import type { TaskFacts } from '../core/run-event.ts';
import type { Usage } from '../core/usage.ts';

export interface UhpOutcome {
  readonly status: ResponseStatus;
  /** Not null only with `failed` (U-260). */
  readonly error: ErrorBody | null;
  /** Not null only with `incomplete`. */
  readonly incompleteReason: IncompleteReason | null;
}

/** How a result becomes a status (UD-83). A budget is never a failure, a cancel never an error (UD-01, UD-04). */
export function uhpOutcomeOf(
  result: Pick<RunResultData, 'status' | 'stopReason' | 'error'>,
  quota: TaskFacts['quota'] = [],
): UhpOutcome {
  switch (verdictOf(result)) {
    case 'running':
    case 'needs-input':
      return plain('in_progress');
    case 'ok':
    case 'unfinished':
      return plain('completed');
    case 'cancelled':
      return plain('cancelled');
    case 'truncated':
      return incomplete('max_output_tokens');
    case 'limited':
      return incomplete(limitReasonOf(result.stopReason, quota));
    case 'refused':
      return failed('provider_error', 'The model declined this request; put it differently or choose another model.');
    case 'failed':
      return result.error?.type === 'MaxStepsError' ? incomplete('max_step') : failedBy(result.error);
  }
}

function plain(status: 'in_progress' | 'completed' | 'cancelled'): UhpOutcome {
  return { status, error: null, incompleteReason: null };
}

function incomplete(incompleteReason: IncompleteReason): UhpOutcome {
  return { status: 'incomplete', error: null, incompleteReason };
}

type FailureCode = 'harness_error' | 'harness_unavailable' | 'provider_error' | 'reins_interrupted';

function failed(code: FailureCode, message: string): UhpOutcome {
  const type = code === 'reins_interrupted' || code === 'harness_unavailable' ? 'server_error' : 'harness_error';
  return { status: 'failed', error: { type, code, message, param: null, detail: null }, incompleteReason: null };
}

/** A budget that was what is left of a quota is named as that (UR-53). */
function limitReasonOf(reason: StopReason | null, quota: NonNullable<TaskFacts['quota']>): IncompleteReason {
  if (reason === 'max-time') return 'timeout';
  if (reason === 'max-cost') return quota.includes('cost') ? 'quota' : 'reins_max_cost';
  if (reason === 'max-total-tokens') return quota.includes('tokens') ? 'quota' : 'reins_max_total_tokens';
  return reason === 'loop' ? 'reins_loop' : 'max_step';
}

function failedBy(error: ErrorInfo | null): UhpOutcome {
  if (error === null) return failed('harness_error', 'The harness failed; start the task again.');
  return failed(codeOf(error), error.message);
}

function codeOf({ type: errorType, provider, retryable }: ErrorInfo): FailureCode {
  switch (errorType) {
    case 'ProviderError':
    case 'QuotaExhaustedError':
    case 'AuthenticationError':
    case 'ContextOverflowError':
    case 'CallTimeoutError':
    case 'IncompleteStreamError':
      return 'provider_error';
    case 'AgentUnavailableError':
      // There was no room for it.
      return retryable ? 'harness_unavailable' : 'reins_interrupted';
    case 'StorageError':
    case 'LeaseLostError':
      return 'reins_interrupted';
    case 'RecoveryExhaustedError':
      // Replies that could not be put right are the provider's, takeovers that were used up the server's.
      return provider === undefined ? 'reins_interrupted' : 'provider_error';
    case 'AdapterOverflowError':
    case 'AdapterProtocolError':
    case 'HarnessError':
    case 'MaxStepsError':
    case 'ToolProtocolError':
      return 'harness_error';
    default:
      errorType satisfies never;
      return 'harness_error';
  }
}

/** Null when nobody gave a figure (UD-48); a figure that is unknown is left out. */
export function uhpUsageOf(usage: Usage | null): UhpUsage | null {
  if (usage === null) return null;
  const { inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens } = usage;
  const known: UhpUsage = {
    ...(inputTokens === null ? {} : { input_tokens: inputTokens }),
    ...(outputTokens === null ? {} : { output_tokens: outputTokens }),
    ...(inputTokens === null || outputTokens === null ? {} : { total_tokens: inputTokens + outputTokens }),
    ...(cacheReadInputTokens === null ? {} : { cache_read_tokens: cacheReadInputTokens }),
    ...(cacheCreationInputTokens === null ? {} : { cache_write_tokens: cacheCreationInputTokens }),
  };
  return Object.keys(known).length === 0 ? null : known;
}
