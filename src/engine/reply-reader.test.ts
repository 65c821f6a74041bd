import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addUsage } from '../core/usage.ts';
import { ReplyReader } from './reply-reader.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ModelTraits } from './model.ts';

const place = { step: 1, attempt: 1 };
const finish = (
  raw: string | undefined = 'stop',
  unified: 'stop' | 'length' | 'tool-calls' = 'stop',
): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified, raw },
  usage: {
    inputTokens: { total: 3, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 5, text: undefined, reasoning: undefined },
  },
});
const text = (id: string, delta: string): LanguageModelV4StreamPart => ({ type: 'text-delta', id, delta });

function read(parts: readonly LanguageModelV4StreamPart[], traits: ModelTraits = {}) {
  const reader = new ReplyReader(place, traits);
  const events: EventDraft[] = [];
  for (const part of parts) reader.push(part, events);
  const { reply, rest } = reader.end();
  return { reply, events: [...events, ...rest] };
}

function joined(events: readonly EventDraft[]): Map<number, string> {
  const byBlock = new Map<number, string>();
  for (const event of events) {
    const piece =
      event.type === 'tool-call-delta' ? event.data.partialJson : event.type === 'text-delta' ? event.data : '';
    byBlock.set(event.block ?? -1, (byBlock.get(event.block ?? -1) ?? '') + piece);
  }
  return byBlock;
}

test('E-106, E-945, B002: any split of any text gives the same deltas joined, and no event holds a lone surrogate', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.nat(200)), (whole, cuts) => {
      const at = [...new Set(cuts.map((cut) => cut % (whole.length + 1)))].toSorted((a, b) => a - b);
      const pieces = [0, ...at].map((from, index) => whole.slice(from, at[index] ?? whole.length));
      const { reply, events } = read([...pieces.map((piece) => text('0', piece)), finish()]);
      for (const event of events) expect(JSON.stringify(event).isWellFormed()).toBe(true);
      expect(reply.text).toBe(whole.toWellFormed());
      expect(joined(events).get(0) ?? '').toBe(reply.text);
    }),
    { numRuns: 2000 },
  );
});

test('E-062: whatever numbers a provider reports, usage holds whole ones that are none too many, or null', () => {
  const said = fc.oneof(
    fc.constant(undefined),
    fc.double(),
    fc.nat(),
    fc.constantFrom(12.5, -1, 1e13, Number.NaN, Number.POSITIVE_INFINITY),
    // What a client passes on from JSON may be anything.
    fc.constantFrom('12', null, {}) as fc.Arbitrary<unknown> as fc.Arbitrary<number>,
  );
  const usages = fc.record({
    inputTokens: fc.record({ total: said, noCache: said, cacheRead: said, cacheWrite: said }),
    outputTokens: fc.record({ total: said, text: said, reasoning: said }),
  });
  fc.assert(
    fc.property(fc.array(usages, { minLength: 1 }), (told) => {
      const replies = told.map((usage) => read([text('0', 'x'), { ...finish(), usage } as LanguageModelV4StreamPart]));
      const all = replies.map(({ reply }) => reply.usage);
      for (const usage of [...all, all.reduce(addUsage, null)])
        for (const count of Object.values(usage ?? {}))
          expect(count === null || (Number.isSafeInteger(count) && count >= 0)).toBe(true);
    }),
  );
  const [usage] = fc.sample(usages, 1);
  const halves = { ...usage, inputTokens: { total: 12.5 }, outputTokens: { total: 2.4 } };
  const { reply } = read([text('0', 'x'), { ...finish(), usage: halves } as LanguageModelV4StreamPart]);
  expect(reply.usage).toMatchObject({ inputTokens: 13, outputTokens: 2 });
});

test('E-125: interleaved blocks keep their own texts, and the parts cut them out of the whole', () => {
  const { reply, events } = read([
    text('a', 'one '),
    text('b', 'two '),
    text('a', 'more'),
    text('b', 'again'),
    finish(),
  ]);
  const parts = reply.parts.map((part) => (part.kind === 'tool-call' ? '' : reply.text.slice(part.start, part.end)));
  expect(parts).toEqual(['one more', 'two again']);
  expect([...joined(events).values()]).toEqual(['one more', 'two again']);
});

test('E-112: a call sent whole gives two events, the name and then all arguments', () => {
  const { reply, events } = read([
    { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{"n":1}' },
    finish('tool_calls', 'tool-calls'),
  ]);
  expect(events.map((event) => event.data)).toEqual([
    { id: 'c', name: 'add', partialJson: '' },
    { id: 'c', name: 'add', partialJson: '{"n":1}' },
  ]);
  expect(reply.calls).toEqual([{ id: 'c', name: 'add', arguments: '{"n":1}' }]);
});

test('E-306: a finish that the client made up, without a raw reason, is no end', () => {
  const reader = new ReplyReader(place);
  reader.push(text('0', 'half'), []);
  reader.push({ ...finish(), finishReason: { unified: 'other', raw: undefined } } as LanguageModelV4StreamPart, []);
  expect(() => reader.end()).toThrow(/without the provider saying/);
});

test.each<[string, LanguageModelV4StreamPart[]]>([
  [
    'two calls with one id',
    [
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{}' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{}' },
    ],
  ],
  ['arguments for a call that never began', [{ type: 'tool-input-delta', id: 'x', delta: '{' }]],
  [
    'a whole call that contradicts what was streamed',
    [
      { type: 'tool-input-start', id: 'c', toolName: 'add' },
      { type: 'tool-input-delta', id: 'c', delta: '{"n":1}' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{"n":2}' },
    ],
  ],
  [
    'a second JSON value glued behind the first',
    [{ type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{"n":1} {"n":2}' }],
  ],
  ['a call without its end', [{ type: 'tool-input-start', id: 'c', toolName: 'add' }]],
])('E-307, B077: %s is a malformed reply', (_, parts) => {
  expect(() => read([...parts, finish('tool_calls', 'tool-calls')])).toThrow(/reply|call/);
});

test('E-062: usage that nobody gave is null, never zero', () => {
  const silent = finish();
  if (silent.type !== 'finish') return;
  const usage = {
    inputTokens: { ...silent.usage.inputTokens, total: undefined },
    outputTokens: { ...silent.usage.outputTokens, total: undefined },
  };
  expect(read([text('0', 'x'), { ...silent, usage }]).reply.usage).toBeNull();
  expect(read([text('0', 'x'), finish()]).reply.usage).toMatchObject({ inputTokens: 3, thinkingTokens: null });
});

test.each(['{"n":', '{"n":1} and more', 'nonsense', '[1,2]'])(
  'E-511: arguments that are merely wrong are for the model to read, not for a retry: %s',
  (input) => {
    const call: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'add', input };
    expect(read([call, finish('tool_calls', 'tool-calls')]).reply.calls).toMatchObject([{ arguments: input }]);
  },
);

test('E-307: a call without an id gets one of ours, in its events as in the reply', () => {
  const { reply, events } = read([
    text('0', 'x'),
    { type: 'tool-input-start', id: '', toolName: 'add' },
    { type: 'tool-input-delta', id: '', delta: '{}' },
    { type: 'tool-call', toolCallId: '', toolName: 'add', input: '{}' },
    finish('tool_calls', 'tool-calls'),
  ]);
  expect(reply.calls).toEqual([{ id: 'call_1_1', name: 'add', arguments: '{}' }]);
  expect(reply.parts).toMatchObject([{ kind: 'text' }, { kind: 'tool-call', id: 'call_1_1' }]);
  expect(events.slice(1)).toMatchObject([{ data: { id: 'call_1_1' } }, { data: { id: 'call_1_1' } }]);
});

describe('E-306: a compatible server that may leave the finish reason out', () => {
  const traits = { allowMissingFinishReasonForText: true };
  const madeUp = { ...finish(), finishReason: { unified: 'error', raw: undefined } } as LanguageModelV4StreamPart;
  const complaint: LanguageModelV4StreamPart = {
    type: 'error',
    error: new Error('Response stream ended without a finish reason.'),
  };
  const call: LanguageModelV4StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'add', input: '{}' };

  test('is believed for text, whatever its client makes of it', () => {
    expect(read([text('0', 'Hi.'), complaint, madeUp], traits).reply).toMatchObject({
      text: 'Hi.',
      finishReason: 'end-turn',
    });
    expect(read([text('0', 'Hi.'), finish(undefined)], traits).reply).toMatchObject({ text: 'Hi.' });
  });

  test('never for calls, for nothing at all, or after another error', () => {
    expect(() => read([call, complaint, madeUp], traits)).toThrow('inside its stream');
    expect(() => read([complaint, madeUp], traits)).toThrow('inside its stream');
    expect(() => read([text('0', 'Hi.'), { type: 'error', error: { type: 'overloaded_error' } }], traits)).toThrow(
      'inside its stream',
    );
    expect(() => read([text('0', 'Hi.'), madeUp])).toThrow(/without the provider saying/);
  });
});

test('E-356: what a provider wants back is kept wherever it comes, also with a piece of text or after it', () => {
  const { reply } = read([
    { ...text('0', 'Hi.'), providerMetadata: { google: { thoughtSignature: 's' } } } as LanguageModelV4StreamPart,
    { type: 'text-end', id: '0', providerMetadata: { google: { more: 1 } } },
    finish(),
  ]);
  expect(reply.parts).toMatchObject([{ _provider: { google: { thoughtSignature: 's', more: 1 } } }]);
});
