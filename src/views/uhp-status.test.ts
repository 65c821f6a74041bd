import { describe, expect, test } from 'vitest';
import type { ErrorInfo, RunErrorType, StopReason } from '../core/outcome.ts';
import {
  createLogBuilder,
  testRunId as runId,
  testSessionId as sessionId,
  type Ending,
} from '../testing/log-builder.ts';
import { uhpUsageOf } from './uhp-status.ts';
import { createUhpView } from './uhp-view.ts';

/** The last event of a task with one text, and its response. */
function ended(ending: Ending) {
  const log = createLogBuilder();
  log.start();
  log.step({ blocks: [{ kind: 'text', pieces: ['kept'] }] });
  log.end(ending);
  const view = createUhpView({ runId, sessionId, reinsEvents: false, emit: true });
  const events = log.events.flatMap((event) => view.push(event));
  return { last: events.at(-1)?.type, response: view.response() };
}

describe('UD-83: from result to status', () => {
  const rows: [StopReason | null, string, object][] = [
    ['end-turn', 'completed', {}],
    ['stop-sequence', 'completed', {}],
    ['empty-reply', 'completed', {}],
    ['max-tokens', 'incomplete', { incomplete_details: { reason: 'max_output_tokens' } }],
    ['max-steps', 'incomplete', { incomplete_details: { reason: 'max_step' } }],
    ['max-time', 'incomplete', { incomplete_details: { reason: 'timeout' } }],
    ['max-cost', 'incomplete', { incomplete_details: { reason: 'reins_max_cost' } }],
    ['max-total-tokens', 'incomplete', { incomplete_details: { reason: 'reins_max_total_tokens' } }],
    ['loop', 'incomplete', { incomplete_details: { reason: 'reins_loop' } }],
    ['refusal', 'failed', { error: { type: 'harness_error', code: 'provider_error' } }],
    ['safety', 'failed', { error: { type: 'harness_error', code: 'provider_error' } }],
  ];
  const failures: [RunErrorType, string, string][] = [
    ['ProviderError', 'harness_error', 'provider_error'],
    ['QuotaExhaustedError', 'harness_error', 'provider_error'],
    ['AuthenticationError', 'harness_error', 'provider_error'],
    ['ContextOverflowError', 'harness_error', 'provider_error'],
    ['CallTimeoutError', 'harness_error', 'provider_error'],
    ['IncompleteStreamError', 'harness_error', 'provider_error'],
    ['AgentUnavailableError', 'server_error', 'reins_interrupted'],
    ['StorageError', 'server_error', 'reins_interrupted'],
    ['LeaseLostError', 'server_error', 'reins_interrupted'],
    ['RecoveryExhaustedError', 'server_error', 'reins_interrupted'],
    ['HarnessError', 'harness_error', 'harness_error'],
    ['ToolProtocolError', 'harness_error', 'harness_error'],
    ['AdapterOverflowError', 'harness_error', 'harness_error'],
  ];
  test.each(rows)('completed with %s: %s', (stopReason, status, details) => {
    const { last, response } = ended({ status: 'completed', stopReason });
    expect(last).toBe(`response.${status}`);
    expect(response).toMatchObject({ status, error: null, incomplete_details: null, ...details });
    expect(response.output).toMatchObject([{ content: [{ text: 'kept' }] }]);
  });

  test.each(failures)('failed with %s: %s, %s', (type, errorType, code) => {
    const error: ErrorInfo = { type, message: 'One sentence.', retryable: false };
    const { last, response } = ended({ status: 'failed', stopReason: null, error });
    expect(last).toBe('response.failed');
    const body = { type: errorType, code, message: 'One sentence.', param: null, detail: null };
    expect(response).toMatchObject({ status: 'failed', error: body, incomplete_details: null });
  });

  test('replies that could not be put right are the provider’s fault', () => {
    const error: ErrorInfo = { type: 'RecoveryExhaustedError', message: 'm', retryable: false, provider: 'p' };
    const { response } = ended({ status: 'failed', stopReason: null, error });
    expect(response).toMatchObject({ status: 'failed', error: { type: 'harness_error', code: 'provider_error' } });
  });

  test('failed with MaxStepsError: a budget is no failure', () => {
    const error: ErrorInfo = { type: 'MaxStepsError', message: 'm', retryable: false };
    const { response } = ended({ status: 'failed', stopReason: null, error });
    expect(response).toMatchObject({ status: 'incomplete', error: null, incomplete_details: { reason: 'max_step' } });
  });

  test('UD-04, U-314: cancelled ends with response.failed and no error', () => {
    const { last, response } = ended({ status: 'cancelled', stopReason: 'cancelled' });
    expect(last).toBe('response.failed');
    expect(response).toMatchObject({ status: 'cancelled', error: null, incomplete_details: null });
  });
});

test('U-005, UD-48: an unknown figure is left out, and no figure at all is null', () => {
  const none = { inputTokens: null, outputTokens: null, cacheReadInputTokens: null, cacheCreationInputTokens: null };
  expect(uhpUsageOf(null)).toBeNull();
  expect(uhpUsageOf({ ...none, thinkingTokens: 3 })).toBeNull();
  expect(uhpUsageOf({ ...none, thinkingTokens: null, outputTokens: 0 })).toEqual({ output_tokens: 0 });
});
