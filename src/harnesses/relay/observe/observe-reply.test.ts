import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { observeReply, type Seen } from './observe-reply.ts';
import { anthropicWire } from '../../../testing/model-servers/anthropic-wire.ts';
import { googleWire } from '../../../testing/model-servers/google-wire.ts';
import { openaiChatWire } from '../../../testing/model-servers/openai-chat-wire.ts';
import { openaiResponsesWire } from '../../../testing/model-servers/openai-responses-wire.ts';
import { dataFrame, namedFrame } from '../../../testing/model-servers/wire-protocol.ts';
import type { ReplyFinish } from '../../../testing/model-servers/reply-script.ts';
import type { Wire } from '../routes.ts';

const wires = [
  ['anthropic', anthropicWire, 'max_tokens'],
  ['responses', openaiResponsesWire, 'max_output_tokens'],
  ['chat', openaiChatWire, 'length'],
  ['google', googleWire, 'MAX_TOKENS'],
] as const;

function see(wire: Wire, pieces: readonly (string | Uint8Array)[], form: 'events' | 'document' = 'events'): Seen {
  const observer = observeReply(wire, form);
  for (const piece of pieces) observer.take(Buffer.from(piece));
  observer.end();
  return observer.seen;
}

function framesOf(wire: (typeof wires)[number][1], finish: ReplyFinish = 'stop'): string[] {
  const text = { kind: 'text', chunks: ['Grüße ', '🙂\u2028'] } as const;
  const reply = { pieces: [text], finish, usage: { inputTokens: 11, outputTokens: 7 }, modelId: 'served-1' };
  return wire.beats(reply, 'asked').flatMap((beat) => (beat.kind === 'pause' ? [] : beat.item));
}

describe.each(wires)('%s', (name, wire, lengthReason) => {
  test('H-203: model, usage, finish reason and end mark are seen however the bytes are cut', () => {
    const bytes = Buffer.from(framesOf(wire, 'length').join(''));
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(bytes.length)), (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const seen = see(
          name,
          at.slice(1).map((end, index) => bytes.subarray(at[index], end)),
        );
        expect(seen).toMatchObject({ model: 'served-1', finishReason: lengthReason, ends: true, error: null });
        expect(seen.usage).toMatchObject({ inputTokens: 11, outputTokens: 7, cacheCreationInputTokens: null });
      }),
      { numRuns: 60 },
    );
  });

  test('H-204: without its last events a reply has no end', () => {
    const frames = framesOf(wire);
    const lastDelta = frames.findLastIndex((frame) => frame.includes('🙂'));
    expect(see(name, frames.slice(0, lastDelta + 1)).ends).toBe(false);
    expect(see(name, [])).toMatchObject({ ends: false, model: null, usage: null });
  });

  test('H-203: an error event is an end, and its type and message are seen', () => {
    const fault = { kind: 'error-event', after: 'nothing', type: 'overloaded_error', message: 'Busy' } as const;
    const seen = see(name, [wire.errorEvent(fault)]);
    expect(seen).toMatchObject({ ends: true, error: { type: 'overloaded_error', message: 'Busy' } });
  });

  test('H-203: what is no JSON object, and JSON of any shape, is passed over', () => {
    const value = fc.oneof(fc.string(), fc.json());
    fc.assert(
      fc.property(fc.array(value), (datas) => {
        see(
          name,
          datas.map((data) => `data: ${data}\n\n`),
        );
        see(name, datas, 'document');
      }),
      { numRuns: 60 },
    );
  });
});

test('H-203: Anthropic counts what the cache read and wrote apart; the whole prompt is their sum, and the last word stands', () => {
  const cache = { input_tokens: 3, cache_read_input_tokens: 20, cache_creation_input_tokens: 5 };
  const start = { message: { model: 'm', usage: { ...cache, output_tokens: 1 } } };
  const details = { output_tokens_details: { thinking_tokens: 4 } };
  const end = { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9, ...details } };
  const usage = see('anthropic', [namedFrame('message_start', start), namedFrame('message_delta', end)]).usage;
  expect(usage).toEqual({
    inputTokens: 28,
    outputTokens: 9,
    cacheReadInputTokens: 20,
    cacheCreationInputTokens: 5,
    thinkingTokens: 4,
  });
});

test('H-203: Gemini counts thoughts apart from the reply; a blocked prompt is an end', () => {
  const usageMetadata = {
    promptTokenCount: 10,
    candidatesTokenCount: 2,
    thoughtsTokenCount: 5,
    cachedContentTokenCount: 8,
  };
  const usage = see('google', [dataFrame({ usageMetadata })]).usage;
  expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 7, thinkingTokens: 5, cacheReadInputTokens: 8 });
  const blocked = see('google', [dataFrame({ promptFeedback: { blockReason: 'SAFETY' } })]);
  expect(blocked).toMatchObject({ ends: true, finishReason: 'SAFETY' });
});

test('H-203: cached and thinking tokens of both OpenAI wires are parts of their totals', () => {
  const input = { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 6 } };
  const output = { completion_tokens: 9, completion_tokens_details: { reasoning_tokens: 3 } };
  const parts = { cacheReadInputTokens: 6, thinkingTokens: 3 };
  expect(see('chat', [dataFrame({ choices: [], usage: { ...input, ...output } })]).usage).toMatchObject({
    inputTokens: 10,
    outputTokens: 9,
    ...parts,
  });
  const details = { input_tokens_details: { cached_tokens: 6 }, output_tokens_details: { reasoning_tokens: 3 } };
  const response = { status: 'completed', usage: { input_tokens: 10, output_tokens: 9, ...details } };
  const seen = see('responses', [namedFrame('response.completed', { response })]);
  expect(seen.usage).toMatchObject({ inputTokens: 10, outputTokens: 9, ...parts });
});

test('H-203: `[DONE]` alone is no end mark', () => {
  expect(see('chat', ['data: [DONE]\n\n']).ends).toBe(false);
});

test.each([
  ['anthropic', { type: 'message', model: 'm', stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 2 } }],
  ['responses', { object: 'response', model: 'm', status: 'completed', usage: { input_tokens: 1, output_tokens: 2 } }],
  ['chat', { model: 'm', choices: [{ finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 2 } }],
  ['google', [{ modelVersion: 'm' }, { usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 } }]],
] as const)('H-203: a %s reply that is no stream tells the same', (wire, body) => {
  const seen = see(wire, [JSON.stringify(body)], 'document');
  expect(seen).toMatchObject({ model: 'm', usage: { inputTokens: 1, outputTokens: 2 } });
});

test('watchdog: pings and comments are no progress, deltas are', () => {
  const observer = observeReply('anthropic', 'events');
  expect(observer.take(Buffer.from(namedFrame('ping')))).toBe(false);
  expect(observer.take(Buffer.from(': still here\n\n'))).toBe(false);
  expect(observer.take(Buffer.from(namedFrame('content_block_stop', { index: 0 })))).toBe(true);
});

test('H-203: on the Responses wire the calls of a reply are counted, each once, streamed or not', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
  const output = [{ type: 'message' }, call, { ...call, type: 'custom_tool_call' }];
  const events = [
    ...output.map((item) => ({ type: 'response.output_item.done', item })),
    { type: 'response.completed', response: { output } },
  ];
  const frames = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
  expect(see('responses', frames).calls).toBe(2);
  expect(see('responses', [JSON.stringify({ object: 'response', output })], 'document').calls).toBe(2);
});
