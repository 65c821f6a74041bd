import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryLog } from '../../testing/arbitrary-log.ts';
import { arbitraryPart } from '../../testing/arbitrary-part.ts';
import { checkLog } from '../../testing/check-log.ts';
import { createPartsView } from '../../views/parts-view.ts';
import { logOfParts } from './log-of-parts.ts';
import { resultBreaches } from '../../testing/result-of-log.ts';
import { testRunId, testSessionId } from '../../testing/log-builder.ts';
import { emptyUsage, type StreamPart } from '../../protocol/parts/index.ts';
import type { RunEvent } from '../../core/run-event.ts';

const read = (parts: readonly StreamPart[]) =>
  logOfParts(parts, { runId: testRunId, sessionId: testSessionId, atMs: 5, label: 'theirs' });
/** Why a turn of others ended is for them to say. */
const lawful = (log: readonly RunEvent[]) => [
  ...checkLog(log),
  ...resultBreaches(log).filter((breach) => !breach.includes('stopReason')),
];
const types = (log: readonly RunEvent[]) => log.map(({ type }) => type);
const result = (log: readonly RunEvent[]) => log.flatMap(({ type, data }) => (type === 'run-result' ? [data] : []))[0];

const start: StreamPart = { type: 'stream-start', modelId: 'm-1' };
const call = (id: string, more: object = {}): StreamPart => ({
  type: 'tool-call',
  toolCallId: id,
  toolName: 'bash',
  input: '{"command":"ls"}',
  providerExecuted: true,
  ...more,
});
const answer = (id: string, more: object = {}): StreamPart => ({
  type: 'tool-result',
  toolCallId: id,
  toolName: 'bash',
  result: 'a.ts',
  ...more,
});
const usage = { ...emptyUsage(), outputTokens: { total: 7, text: 7, reasoning: undefined } };
const stepEnd: StreamPart = { type: 'finish-step', finishReason: { unified: 'tool-calls', raw: undefined }, usage };
const finish: StreamPart = { type: 'finish', finishReason: { unified: 'stop', raw: 'end' }, totalUsage: usage };
const says = (text: string): StreamPart[] => [
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: text },
  { type: 'text-end', id: 't' },
];

describe('P-068: parts of others are a log that keeps the laws of ours', () => {
  test('whatever they are, in whatever order', () => {
    fc.assert(
      fc.property(fc.array(arbitraryPart, { maxLength: 25 }), (parts) => {
        expect(lawful(read(parts).events)).toEqual([]);
      }),
    );
  });

  test('those of our own runs, when nobody has kept the envelope', () => {
    fc.assert(
      fc.property(arbitraryLog, (log) => {
        const view = createPartsView();
        const { events } = read(log.flatMap((event) => view.push(event)));
        expect(lawful(events)).toEqual([]);
        expect(result(events)?.status).toBe(result(log)?.status);
      }),
    );
  });

  test('a step ends with its results, and the next one says the answer', () => {
    const { events } = read([start, call('1'), answer('1'), stepEnd, ...says('Done.'), finish]);
    expect(lawful(events)).toEqual([]);
    expect(types(events).filter((type) => /tool|step|run/.test(type))).toEqual([
      'run-started',
      'step-started',
      'tool-call-delta',
      'tool-call-delta',
      'tool-call-start',
      'tool-dispatched',
      'tool-call-complete',
      'tool-result',
      'step-finished',
      'step-started',
      'step-finished',
      'run-result',
    ]);
    expect(result(events)).toMatchObject({
      status: 'completed',
      output: 'Done.',
      model: { requested: { model: 'm-1' } },
    });
  });

  test('a call of the host has the result that its host gave', () => {
    const { events } = read([start, call('1', { providerExecuted: false }), answer('1'), stepEnd, finish]);
    expect(events.flatMap(({ type, data }) => (type === 'tool-result' ? [data.content] : []))).toEqual(['a.ts']);
  });

  test('P-051: a call after a result of the same foreign step opens a step of its own', () => {
    const { events } = read([start, call('1'), answer('1'), call('2'), answer('2'), stepEnd, finish]);
    expect(lawful(events)).toEqual([]);
    expect(types(events).filter((type) => type === 'step-started')).toHaveLength(2);
  });

  test('what was asked is decided by its result, and what has none when the run ends', () => {
    const ask = (id: string): StreamPart => ({ type: 'tool-approval-request', approvalId: `a${id}`, toolCallId: id });
    const { events } = read([start, call('1'), call('2'), ask('1'), ask('2'), answer('1'), stepEnd, finish]);
    expect(lawful(events)).toEqual([]);
    expect(events.flatMap(({ type, data }) => (type === 'approval-decided' ? [[data.decision, data.by]] : []))).toEqual(
      [
        ['approve', 'harness'],
        ['cancelled', 'engine'],
      ],
    );
  });
});

describe('P-054: how it ended', () => {
  test('without an end it has failed', () => {
    expect(result(read([start, ...says('Half')]).events)).toMatchObject({
      status: 'failed',
      error: { type: 'IncompleteStreamError' },
      partialOutput: 'Half',
    });
  });

  test('U-052: an error in the words of others is not shown', () => {
    const { events } = read([start, { type: 'error', error: { message: 'secret place' } }]);
    expect(result(events)?.status).toBe('failed');
    expect(JSON.stringify(events)).not.toContain('secret');
  });

  test('P-064: our own word for a cancel is one', () => {
    const { events } = read([start, ...says('Half'), { type: 'error', error: { name: 'RunCancelled' } }]);
    expect(result(events)?.status).toBe('cancelled');
  });

  test('nothing counts after it', () => {
    expect(result(read([start, ...says('One'), finish, ...says('Two')]).events)?.output).toBe('One');
  });
});

test('P-067: what no event says is given back', () => {
  const raw: StreamPart = { type: 'raw', rawValue: { type: 'theirs' } };
  const early = answer('1', { preliminary: true });
  const { events, opaque } = read([start, raw, call('1'), early, answer('1'), finish]);
  expect(opaque).toEqual([raw, early]);
  expect(types(events).filter((type) => type === 'tool-result')).toHaveLength(1);
});
