import { describe, expect, test } from 'vitest';
import { RunResult, type RunError } from './run-result.ts';
import { createLogBuilder } from '../testing/log-builder.ts';
import type { RunResultData, RunStatus, StopReason } from './outcome.ts';

function resultOf(facts: Partial<RunResultData>): RunResult {
  const log = createLogBuilder();
  log.start();
  log.end({ status: 'completed', stopReason: 'end-turn' });
  const last = log.events.at(-1);
  if (last?.type !== 'run-result') throw new Error('no result');
  return new RunResult({ ...last.data, ...facts });
}

const predicates = ['ok', 'truncated', 'limited', 'refused', 'failed', 'needsInput'] as const;
type Row = readonly [RunStatus, StopReason | null, (typeof predicates)[number] | null, string | null];
const table: readonly Row[] = [
  ['completed', 'end-turn', 'ok', null],
  ['completed', 'stop-sequence', 'ok', null],
  ['completed', 'other', 'ok', null],
  ['completed', 'tool-use', 'ok', null],
  ['completed', 'max-tokens', 'truncated', 'RunTruncated'],
  ['completed', 'refusal', 'refused', 'RunRefused'],
  ['completed', 'safety', 'refused', 'RunRefused'],
  ['completed', 'max-steps', 'limited', 'RunLimitReached'],
  ['completed', 'max-cost', 'limited', 'RunLimitReached'],
  ['completed', 'max-total-tokens', 'limited', 'RunLimitReached'],
  ['completed', 'max-time', 'limited', 'RunLimitReached'],
  ['completed', 'loop', 'limited', 'RunLimitReached'],
  ['completed', 'pause-turn', null, 'RunError'],
  ['completed', 'empty-reply', null, 'RunError'],
  ['failed', null, 'failed', 'RunFailed'],
  ['awaiting-input', null, 'needsInput', 'RunAwaitingInput'],
  ['cancelled', 'cancelled', null, 'RunCancelled'],
  ['paused', null, null, 'RunError'],
  ['running', null, null, 'RunError'],
];

describe('E-060: the predicates of a result, and what raiseForStatus() makes of it', () => {
  test.each(table)('%s, %s: %s, %s', (status, stopReason, predicate, error) => {
    const result = resultOf({ status, stopReason });
    expect(predicates.filter((each) => result[each])).toEqual(predicate === null ? [] : [predicate]);
    if (error === null) return expect(result.raiseForStatus()).toBe(result);
    expect(() => result.raiseForStatus()).toThrow(expect.objectContaining({ type: error, result }));
  });
});

function raised(facts: Partial<RunResultData>): RunError {
  try {
    resultOf(facts).raiseForStatus();
  } catch (error) {
    return error as RunError;
  }
  throw new Error('nothing was raised');
}

test('E-070: a failed run raises with the type and the sentence of its error', () => {
  const error = { type: 'QuotaExhaustedError', message: 'The quota is spent.', retryable: true } as const;
  expect(raised({ status: 'failed', stopReason: null, error })).toMatchObject({
    error,
    message: error.message,
    retryable: true,
  });
});

test('E-060: the others say which limit, and what is waited for', () => {
  expect(raised({ stopReason: 'max-cost' })).toMatchObject({ limit: 'max-cost' });
  expect(raised({ status: 'awaiting-input', stopReason: null })).toMatchObject({ pending: [] });
});

test('a result is plain JSON', () => {
  const result = resultOf({ output: 'Yes.' });
  expect(JSON.parse(JSON.stringify(result))).toMatchObject({ output: 'Yes.', status: 'completed', cursor: null });
});
