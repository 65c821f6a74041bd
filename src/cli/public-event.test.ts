import { expect, test } from 'vitest';
import type { RunEvent } from '../core/run-event.ts';
import { runIds, sessionIds } from '../core/ids.ts';
import { publicEvent } from './public-event.ts';

const base = {
  v: 1,
  seq: 1,
  runId: runIds.make('a'),
  sessionId: sessionIds.make('b'),
  at: 0,
  leg: 1,
  step: 1,
  attempt: 1,
} as const;

test('E-104: no private field is printed, of the event or of a part of a reply', () => {
  const call = { id: 'c', name: 'read_file', input: { _path: 'x' }, executionKey: 'k' };
  const complete: RunEvent = {
    ...base,
    type: 'tool-call-complete',
    data: { ...call, outcome: 'ok', toolAttempt: 1, durationMs: 1, _raw: 'secret' },
  };
  const turn: RunEvent = {
    ...base,
    type: 'turn-complete',
    data: {
      finishReason: 'end-turn',
      rawFinishReason: null,
      parts: [{ block: 0, kind: 'tool-call', id: 'c', _provider: { signature: 'secret' } }],
      calls: [],
      usage: null,
      usageIncomplete: false,
      served: null,
    },
  };
  expect(JSON.stringify([complete, turn].map(publicEvent))).not.toMatch(/secret|_raw|_provider/);
});

test('what a tool was given keeps its own keys, underscores included', () => {
  const input = { _path: 'x' };
  const data = { id: 'c', name: 'n', input, executionKey: 'k', willRun: true };
  expect(publicEvent({ ...base, type: 'tool-call-start', data })).toMatchObject({ data: { input } });
});
