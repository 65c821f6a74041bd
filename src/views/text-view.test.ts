import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { approvalIds, runIds, sessionIds } from '../core/ids.ts';
import type { JsonValue } from '../core/json.ts';
import type { RunEvent } from '../core/run-event.ts';
import { arbitraryLog } from '../testing/arbitrary-log.ts';
import { createLogBuilder } from '../testing/log-builder.ts';
import { createTextView, type TextPiece } from './text-view.ts';

function show(log: readonly RunEvent[]): TextPiece[] {
  const view = createTextView();
  return log.flatMap((event) => view.push(event));
}

test('E-037, E-038: text streams, tools and resets are lines, the end is said', () => {
  const log = createLogBuilder();
  log.start();
  log.step({
    abandoned: [{ blocks: [{ kind: 'text', pieces: ['lost'] }], shown: 1, reason: 'stalled' }],
    blocks: [
      { kind: 'thinking', pieces: ['hidden'] },
      { kind: 'text', pieces: ['Let me ', 'look.'] },
      { kind: 'call', id: 'c', pieces: ['{}'], outcome: 'error', content: 'no such file' },
    ],
  });
  log.step({ blocks: [{ kind: 'text', pieces: ['Done.'] }] });
  log.end({ status: 'completed', stopReason: 'max-steps', budget: 'steps' });
  expect(show(log.events)).toEqual([
    { kind: 'text', text: 'lost' },
    { kind: 'note', text: 'The reply above broke off and starts over now (stalled).' },
    { kind: 'text', text: 'Let me ' },
    { kind: 'text', text: 'look.' },
    { kind: 'tool', text: 'tool' },
    { kind: 'tool', text: '  tool · ✗ failed · no such file' },
    { kind: 'text', text: 'Done.' },
    { kind: 'note', text: 'A limit is reached: steps, 1 of 1.' },
    { kind: 'note', text: 'Stopped by a limit: max-steps. (2 steps)' },
  ]);
});

test('B147, E-330: a wait is a line; that the connection lives is said beside it, where it is known', () => {
  const wait = {
    v: 1,
    runId: runIds.make('1'),
    sessionId: sessionIds.make('1'),
    at: 0,
    leg: 1,
    seq: 1,
    step: 1,
    attempt: 1,
  } as const;
  const said = show([
    { ...wait, type: 'waiting', data: { on: 'model', seconds: 10 } },
    { ...wait, type: 'waiting', data: { on: 'tool', name: 'bash', seconds: 25.2, lastByteMs: 1_900 } },
  ]);
  expect(said.map(({ text }) => text)).toEqual([
    'Waiting for the model, 10 s so far.',
    'Waiting for the tool bash, 25 s so far; the connection was alive 2 s ago.',
  ]);
});

test('E-611: what is asked, and what was said, are lines', () => {
  const place = { step: 1, attempt: 1 } as const;
  const asked = {
    approvalId: approvalIds.make('1'),
    kind: 'approval',
    executionKey: 'k',
    runId: runIds.make('1'),
    step: 1,
    call: { id: 'c', name: 'bash', input: { command: 'ls\n-l' } },
    argsDigest: 'd',
    replay: 'manual',
    toolAttempt: 0,
    status: 'pending',
    requestedAtMs: 1,
    expiresAtMs: null,
  } as const;
  const questions = [
    { id: 'q', question: 'Left or\nright?', options: ['left', 'right'] },
    { id: 'r', question: 'Why?' },
  ];
  const { approvalId, executionKey, kind } = asked;
  const view = createTextView();
  const lines = [
    view.push({ ...place, type: 'approval-required', data: asked }),
    view.push({ ...place, type: 'approval-required', data: { ...asked, kind: 'question', questions } }),
    view.push({ ...place, type: 'recovery-required', data: { ...asked, kind: 'recovery', status: 'uncertain' } }),
    view.push({
      ...place,
      type: 'approval-decided',
      data: { approvalId, executionKey, kind, decision: 'deny', by: 'ada' },
    }),
    view.push({ ...place, type: 'tool-output-delta', data: { id: 'c', name: 'bash', text: 'live' } }),
  ].flat();
  expect(lines.map(({ text }) => text)).toEqual([
    'Waits for a decision: bash ls -l',
    'Waits for an answer: Left or right? (left / right)',
    'Waits for an answer: Why?',
    'Waits for a person: nobody knows whether bash ran to its end.',
    'Refused by ada.',
  ]);
});

test('a file that was changed is a line, unless its call has named it', () => {
  const view = createTextView();
  const place = { step: 1, attempt: 1 } as const;
  const call = (name: string, input: JsonValue) =>
    view.push({
      type: 'tool-call-start',
      data: { id: name, name, input, executionKey: name, willRun: true },
      ...place,
    });
  const changed = (kind: 'create' | 'modify', path: string) =>
    view.push({ type: 'file-changed', data: { kind, path }, ...place });
  expect(call('write_file', { path: 'a.txt' })).toEqual([{ kind: 'tool', text: 'write_file a.txt' }]);
  expect(changed('create', 'a.txt')).toEqual([]);
  expect(call('apply_patch', { changes: [{ path: '/w/b.txt' }] })).toEqual([{ kind: 'tool', text: 'apply_patch' }]);
  expect(changed('modify', 'b.txt')).toEqual([{ kind: 'tool', text: '  modify b.txt' }]);
});

test('a reply that was never streamed is shown whole', () => {
  const place = { step: 1, attempt: 1 } as const;
  expect(createTextView().push({ ...place, type: 'text-complete', data: 'whole' })).toEqual([
    { kind: 'text', text: 'whole' },
  ]);
});

test('X1, E-948: the view of a prefix is a prefix of the view, and notes are single lines', () => {
  fc.assert(
    fc.property(arbitraryLog, fc.nat(80), (log, count) => {
      const part = show(log.slice(0, count));
      const whole = show(log);
      expect(whole.slice(0, part.length)).toEqual(part);
      expect(whole.filter((piece) => piece.kind === 'note' && piece.text.includes('\n'))).toEqual([]);
    }),
  );
});
