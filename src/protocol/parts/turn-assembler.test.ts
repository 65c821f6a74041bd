import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AdapterProtocolError, IncompleteStreamError } from '../../core/errors.ts';
import { arbitraryLog } from '../../testing/arbitrary-log.ts';
import { createPartsView } from '../../views/parts-view.ts';
import { emptyUsage, TurnAssembler, type StreamPart } from './index.ts';

const assemble = (parts: readonly StreamPart[], turn = new TurnAssembler()) =>
  parts.flatMap((part) => turn.push(part)).map((chunk) => ('id' in chunk ? `${chunk.type} ${chunk.id}` : chunk.type));

const text = (id = 't'): StreamPart => ({ type: 'text-start', id });
const call = (id: string): StreamPart => ({ type: 'tool-call', toolCallId: id, toolName: 'bash', input: '{}' });
const result = (id: string, more: object = {}): StreamPart => ({
  type: 'tool-result',
  toolCallId: id,
  toolName: 'bash',
  result: 1,
  ...more,
});
const finishReason = { unified: 'stop', raw: undefined } as const;
const stepEnd: StreamPart = { type: 'finish-step', finishReason, usage: emptyUsage() };
const finish: StreamPart = { type: 'finish', finishReason, totalUsage: emptyUsage() };
const change: StreamPart = { type: 'file-change', event: 'modify', path: 'a' };

test('P-050: start first, steps from their first content to their part, finish last and once', () => {
  const start: StreamPart = { type: 'stream-start' };
  expect(
    assemble([start, text(), { type: 'text-end', id: 't' }, stepEnd, call('1'), result('1'), stepEnd, finish]),
  ).toEqual([
    'start',
    'start-step',
    'text-start t',
    'text-end t',
    'finish-step',
    'start-step',
    'tool-result',
    'finish-step',
    'finish',
  ]);
  expect(assemble([finish, finish, text()])).toEqual(['start', 'finish']);
});

test('P-052: warnings and the model are metadata of the start', () => {
  const warnings = [{ type: 'other', message: 'old' }] as const;
  const [first] = new TurnAssembler().push({ type: 'stream-start', modelId: 'm', warnings });
  expect(first).toEqual({ type: 'start', messageMetadata: { modelId: 'm', warnings } });
});

describe('P-051: a step ends behind the results of its calls', () => {
  test('its end is held back, results are not', () => {
    const turn = new TurnAssembler();
    expect(assemble([call('1'), call('2'), stepEnd, result('2')], turn)).toEqual([
      'start',
      'start-step',
      'tool-result',
    ]);
    expect(assemble([result('1', { preliminary: true })], turn)).toEqual(['tool-result']);
    expect(assemble([result('1')], turn)).toEqual(['tool-result', 'finish-step']);
  });

  test('until the next one begins, or the turn ends', () => {
    expect(assemble([call('1'), stepEnd, text(), stepEnd, finish])).toEqual([
      'start',
      'start-step',
      'finish-step',
      'start-step',
      'text-start t',
      'text-end t',
      'finish-step',
      'finish',
    ]);
    expect(assemble([call('1'), stepEnd, finish])).toEqual(['start', 'start-step', 'finish-step', 'finish']);
  });
});

describe('P-053: adapters that leave things out', () => {
  test('blocks are closed at the end of a step, of an attempt, and of the turn', () => {
    const reset: StreamPart = { type: 'raw', rawValue: { type: 'reins.attempt-reset' } };
    const input: StreamPart = { type: 'tool-input-start', id: 'c', toolName: 'bash' };
    expect(assemble([text(), stepEnd])).toContain('text-end t');
    expect(assemble([input, { type: 'reasoning-start', id: 'r' }, reset])).toEqual([
      'start',
      'start-step',
      'tool-input-start c',
      'reasoning-start r',
      'tool-input-end c',
      'reasoning-end r',
      'raw',
    ]);
    expect(assemble([text(), { type: 'error', error: 'x' }])).toEqual([
      'start',
      'start-step',
      'text-start t',
      'text-end t',
      'error',
    ]);
  });

  test('a turn that finishes within a step is refused', () => {
    expect(() => assemble([text(), finish])).toThrow(AdapterProtocolError);
    expect(() => assemble([text(), stepEnd, text('u'), finish])).toThrow('within a step');
  });

  test('what happens between steps is no step', () => {
    expect(assemble([text(), stepEnd, change, finish]).slice(-3)).toEqual(['tool-call', 'tool-result', 'finish']);
  });
});

describe('P-054, P-055: how it ends', () => {
  test('the first error ends it', () => {
    expect(assemble([{ type: 'error', error: 1 }, { type: 'error', error: 2 }, finish])).toEqual(['start', 'error']);
  });

  test('without an end it is incomplete, whatever was shown', () => {
    const turn = new TurnAssembler();
    expect(() => turn.end()).toThrow(IncompleteStreamError);
    assemble([text(), stepEnd], turn);
    expect(() => turn.end()).toThrow(IncompleteStreamError);
    turn.push(finish);
    expect(() => turn.end()).not.toThrow();
  });

  test('a stop by the caller is one abort, with its reason, and no error', () => {
    const turn = new TurnAssembler();
    assemble([text()], turn);
    expect(turn.abort('user')).toEqual([
      { type: 'text-end', id: 't' },
      { type: 'abort', reason: 'user' },
    ]);
    expect([turn.abort(), turn.push({ type: 'error', error: 1 })]).toEqual([[], []]);
    expect(() => turn.end()).not.toThrow();
    expect(new TurnAssembler().abort()).toEqual([{ type: 'start' }, { type: 'abort' }]);
  });
});

test('every run of ours is a turn with whole steps', () => {
  fc.assert(
    fc.property(arbitraryLog, (log) => {
      const view = createPartsView();
      const turn = new TurnAssembler();
      const chunks = assemble(
        log.flatMap((event) => view.push(event)),
        turn,
      );
      turn.end();
      const count = (type: string) => chunks.filter((chunk) => chunk === type).length;
      expect(count('start')).toBe(1);
      if (chunks.at(-1) === 'finish') expect(count('start-step')).toBe(count('finish-step'));
      expect(count('finish-step')).toBe(log.filter(({ type }) => type === 'step-finished').length);
    }),
  );
});
