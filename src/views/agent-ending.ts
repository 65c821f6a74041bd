// How a run that was no success ends `POST /api/agent`: one sentence that is safe to show, and the status of its JSON form
//

import { verdictOf, type ErrorInfo, type RunResultData } from '../core/outcome.ts';
import { head } from '../core/text.ts';
import type { AgentError } from '../protocol/agent/events.ts';
import type { Redact } from '../core/redact.ts';

const maxErrorUnits = 280;

export interface EndingOptions {
  readonly redact: Redact;
  /** Named where nothing else can be said: the operator finds the rest under it. */
  readonly errorId: string;
  /** The last reply of the model held nothing. */
  readonly empty?: boolean;
}

export function agentError(status: number, error: string): AgentError {
  return { type: 'error', error, status };
}

export const cancelledError = agentError(499, 'Request cancelled.');
export const emptyError = agentError(502, 'Empty model response.');

export function internalError(errorId: string): AgentError {
  return agentError(500, `Internal error (${errorId}).`);
}

/** Null: the run is a success, as far as its result says. */
export function failureOf(result: RunResultData, options: EndingOptions): AgentError | null {
  switch (verdictOf(result)) {
    case 'ok':
      return null;
    case 'cancelled':
      return cancelledError;
    case 'truncated':
      return agentError(502, 'Output truncated.');
    case 'refused':
      return agentError(502, 'The model declined.');
    case 'unfinished':
      return result.stopReason === 'empty-reply' ? emptyError : agentError(502, 'Output truncated.');
    case 'limited':
      return budgetError(result);
    case 'failed':
      return result.error === null ? internalError(options.errorId) : failedBy(result, result.error, options);
    case 'needs-input':
    case 'running':
      // Nobody can be waited for here.
      return internalError(options.errorId);
  }
}

const budgets: Readonly<Partial<Record<NonNullable<RunResultData['stopReason']>, string>>> = {
  'max-steps': 'steps',
  'max-cost': 'cost',
  'max-total-tokens': 'tokens',
  loop: 'loop',
};

function budgetError({ stopReason }: RunResultData): AgentError {
  if (stopReason === 'max-time') return timedOut;
  return agentError(422, `Budget reached: ${(stopReason === null ? undefined : budgets[stopReason]) ?? 'steps'}.`);
}

const timedOut = agentError(504, 'The turn timed out.');

function failedBy({ model }: RunResultData, error: ErrorInfo, options: EndingOptions): AgentError {
  if (stalled(error)) return timedOut;
  switch (error.type) {
    case 'AuthenticationError':
      return agentError(502, 'The model provider refused its credential.');
    case 'CallTimeoutError':
      return timedOut;
    case 'MaxStepsError':
      return agentError(422, 'Budget reached: steps.');
    case 'ProviderError':
    case 'QuotaExhaustedError':
    case 'ContextOverflowError':
    case 'IncompleteStreamError':
      return providerError(error, { ...options, modelId: error.model ?? model.requested.model });
    case 'RecoveryExhaustedError':
      if (options.empty === true) return emptyError;
      return named(error, options);
    case 'AdapterOverflowError':
    case 'AdapterProtocolError':
    case 'AgentUnavailableError':
    case 'HarnessError':
    case 'LeaseLostError':
    case 'StorageError':
    case 'ToolProtocolError':
      return named(error, options);
  }
}

/** In the words of its own where it is a provider's fault. */
function named({ provider, message }: ErrorInfo, { redact, errorId }: EndingOptions): AgentError {
  const words = provider === undefined ? '' : safeText(message, redact);
  return words === '' ? internalError(errorId) : agentError(502, words);
}

function providerError(error: ErrorInfo, o: EndingOptions & { readonly modelId: string }): AgentError {
  if (error.status === 429) return agentError(429, 'The model provider is rate limiting.');
  if (error.status === 404) return agentError(400, safeText(`The model is not available: ${o.modelId}`, o.redact));
  return named(error, o);
}

/** By the words that we ourselves have for a model or an agent that fell silent; one that broke off has failed. */
function stalled({ type, message }: ErrorInfo): boolean {
  if (type === 'IncompleteStreamError') return message.startsWith('The model sent nothing for ');
  return type === 'HarnessError' && message.includes(' gave no sign of life ');
}

/** A foreign sentence without secrets, stack, paths and hosts, in one line. */
export function safeText(text: string, redact: Redact): string {
  const plain = redact(text)
    .replaceAll(/\n\s+at [^\n]*/g, '')
    .replaceAll(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"')]+/gi, '[address]')
    .replaceAll(/(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|\blocalhost(?::\d+)?\b/g, '[address]')
    .replaceAll(/(?<=^|[\s"'(=])(?:\/|[A-Za-z]:\\)[^\s"'):,]+/g, '[path]')
    .replaceAll(/\b[\w-]+(?:\.[\w-]+)*\.(?:internal|local|lan|intranet|corp)\b(?::\d+)?/gi, '[address]')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return plain.length <= maxErrorUnits ? plain : `${head(plain, maxErrorUnits - 1)}…`;
}
