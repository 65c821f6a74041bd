import { expect, test } from 'vitest';
import { createLogBuilder, type Ending } from '../testing/log-builder.ts';
import { failureOf, safeText } from './agent-ending.ts';
import type { ErrorInfo, RunErrorType, RunResultData } from '../core/outcome.ts';

const options = { redact: (text: string) => text, errorId: 'resp_1' };

function resultOf(ending: Ending): RunResultData {
  const log = createLogBuilder();
  log.start();
  log.end(ending);
  const last = log.events.at(-1);
  if (last?.type !== 'run-result') throw new Error('The log has no end.');
  return last.data;
}

function told(ending: Ending, more: object = {}): readonly [number, string] | null {
  const failure = failureOf(resultOf(ending), { ...options, ...more });
  return failure === null ? null : [failure.status, failure.error];
}

function failed(type: RunErrorType, more: Partial<ErrorInfo> = {}): readonly [number, string] | null {
  const error: ErrorInfo = { type, message: 'The model provider failed.', retryable: false, ...more };
  return told({ status: 'failed', stopReason: null, error });
}

const provider = { provider: 'openai', model: 'gpt-5.4' };

test('A-026, A-033: each ending has its sentence and its status', () => {
  const completed = (stopReason: Ending['stopReason']) => told({ status: 'completed', stopReason });
  expect(completed('end-turn')).toBeNull();
  expect(completed('max-tokens')).toEqual([502, 'Output truncated.']);
  expect(completed('refusal')).toEqual([502, 'The model declined.']);
  expect(completed('safety')).toEqual([502, 'The model declined.']);
  expect(completed('empty-reply')).toEqual([502, 'Empty model response.']);
  expect(completed('max-time')).toEqual([504, 'The turn timed out.']);
  expect(completed('max-steps')).toEqual([422, 'Budget reached: steps.']);
  expect(completed('max-cost')).toEqual([422, 'Budget reached: cost.']);
  expect(completed('max-total-tokens')).toEqual([422, 'Budget reached: tokens.']);
  expect(completed('loop')).toEqual([422, 'Budget reached: loop.']);
  expect(told({ status: 'cancelled', stopReason: 'cancelled' })).toEqual([499, 'Request cancelled.']);
});

test('A-033: what failed is told by its cause', () => {
  expect(failed('AuthenticationError', provider)).toEqual([502, 'The model provider refused its credential.']);
  expect(failed('ProviderError', { ...provider, status: 429 })).toEqual([429, 'The model provider is rate limiting.']);
  expect(failed('ProviderError', { ...provider, status: 404 })).toEqual([400, 'The model is not available: gpt-5.4']);
  expect(failed('ProviderError', { ...provider, status: 500 })).toEqual([502, 'The model provider failed.']);
  expect(failed('QuotaExhaustedError', provider)).toEqual([502, 'The model provider failed.']);
  const silent = { ...provider, message: 'The model sent nothing for 60 seconds.' };
  expect(failed('IncompleteStreamError', silent)).toEqual([504, 'The turn timed out.']);
  expect(failed('IncompleteStreamError', provider)).toEqual([502, 'The model provider failed.']);
  expect(failed('CallTimeoutError', provider)).toEqual([504, 'The turn timed out.']);
  expect(failed('MaxStepsError')).toEqual([422, 'Budget reached: steps.']);
  expect(failed('HarnessError')).toEqual([500, 'Internal error (resp_1).']);
  expect(failed('StorageError')).toEqual([500, 'Internal error (resp_1).']);
  const error = { type: 'RecoveryExhaustedError', message: 'The model gave no answer.', retryable: true } as const;
  const given = { status: 'failed', stopReason: null, error } as const;
  expect(told(given, { empty: true })).toEqual([502, 'Empty model response.']);
  expect(told(given)).toEqual([500, 'Internal error (resp_1).']);
});

test('A-033: a foreign sentence loses secrets, stack, paths and hosts, then its white space, then its length', () => {
  const safe = (text: string) => safeText(text, (each) => each.replaceAll('sk-1234', '[redacted]'));
  expect(safe('key sk-1234\n  is  bad')).toBe('key [redacted] is bad');
  expect(safe('failed\n    at run (/srv/app/x.js:1:2)\n    at next')).toBe('failed');
  expect(safe('cannot open /srv/app/secret.txt today')).toBe('cannot open [path] today');
  expect(safe('cannot open C:\\app\\secret.txt')).toBe('cannot open [path]');
  expect(safe('asked http://gateway.internal:8080/v1 in vain')).toBe('asked [address] in vain');
  expect(safe('asked 10.0.0.7:443, localhost:11434 and db.prod.internal')).toBe(
    'asked [address], [address] and [address]',
  );
  expect(safe('status 404 and/or 500, version 1.2')).toBe('status 404 and/or 500, version 1.2');
  expect(safe('x'.repeat(300))).toBe(`${'x'.repeat(279)}…`);
  expect(safe('x'.repeat(280))).toHaveLength(280);
  const cut = safe(`${'x'.repeat(278)}😀😀`);
  expect([cut.length, cut.isWellFormed()]).toEqual([279, true]);
});
