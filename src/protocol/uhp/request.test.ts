import { describe, expect, test } from 'vitest';
import { InvalidInputError } from '../../core/errors.ts';
import { parseCreateResponse } from './request.ts';

const part = (value: unknown) => ({ input: [{ role: 'user', content: [value] }] });
const fileOf = (type: string, text: string) => `data:${type};base64,${Buffer.from(text).toString('base64')}`;

function refusal(body: unknown): InvalidInputError {
  try {
    parseCreateResponse(body);
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
  throw new Error('The body was accepted.');
}

test('U-200: a bare string is one user message, and every default is filled in', () => {
  expect(parseCreateResponse({ input: 'hello' })).toEqual({
    messages: [{ content: [{ type: 'text', text: 'hello' }] }],
    instructions: null,
    inputItems: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] }],
    model: null,
    harnessId: null,
    previousResponseId: null,
    store: true,
    stream: false,
    background: false,
    maxOutputTokens: null,
    maxStep: null,
    timeoutSeconds: null,
    metadata: {},
    reinsEvents: false,
    fork: false,
    ignoredFields: [],
    bodyHashInput: { input: 'hello' },
  });
});

describe('UD-45: a wrong type is refused with the path of the field', () => {
  test.each([
    [null, undefined],
    [[], undefined],
    [{}, 'input'],
    [{ input: 7 }, 'input'],
    [{ input: '' }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: [{ role: 'system', content: 'x' }] }, 'input'],
    [{ input: ['x'] }, 'input[0]'],
    [{ input: [{ role: 'tool', content: 'x' }] }, 'input[0].role'],
    [{ input: [{ role: 'user' }] }, 'input[0].content'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] }, 'input[0].type'],
    [part({ type: 'nonsense' }), 'input[0].content[0].type'],
    [part({ type: 'output_text', text: 'x' }), 'input[0].content[0].type'],
    [part({ type: 'input_text', text: 1 }), 'input[0].content[0].text'],
    [part({ type: 'input_image', image_url: 'x' }), 'input[0].content[0].image_url'],
    [part({ type: 'input_file', file_id: 1 }), 'input[0].content[0].file_id'],
    [part({ type: 'input_file', file_data: 'hello' }), 'input[0].content[0].file_data'],
    [part({ type: 'input_file', file_data: 'data:text/plain;base64,/' }), 'input[0].content[0].file_data'],
    [{ input: 'x', model: 5 }, 'model'],
    [{ input: 'x', model: '' }, 'model'],
    [{ input: 'x', stream: 'true' }, 'stream'],
    [{ input: 'x', max_step: 0 }, 'max_step'],
    [{ input: 'x', max_step: '3' }, 'max_step'],
    [{ input: 'x', timeout_seconds: 1.5 }, 'timeout_seconds'],
    [{ input: 'x', max_output_tokens: -1 }, 'max_output_tokens'],
    [{ input: 'x', metadata: 'm' }, 'metadata'],
    [{ input: 'x', metadata: { harness_id: 4 } }, 'metadata.harness_id'],
    [{ input: 'x', metadata: { note: 'n'.repeat(70_000) } }, 'metadata'],
    [{ input: 'x', background: true, store: false }, 'background'],
    [{ input: 'x', background: true, store: false, stream: true }, 'background'],
  ])('%j', (body, param) => {
    const error = refusal(body);
    expect(error).toMatchObject({ status: 400, code: 'invalid_input', param: param ?? null });
    expect(error.message).toMatch(/^[^\n]+\.$/);
  });
});

test('UD-45: null is absent for every optional field', () => {
  const names = ['model', 'instructions', 'metadata', 'previous_response_id', 'stream', 'store', 'background'];
  const nulls = Object.fromEntries(
    [...names, 'max_step', 'timeout_seconds', 'max_output_tokens'].map((key) => [key, null]),
  );
  expect({ ...parseCreateResponse({ input: 'x', ...nulls }), bodyHashInput: 0 }).toEqual({
    ...parseCreateResponse({ input: 'x' }),
    bodyHashInput: 0,
  });
});

test('UD-42: system and developer items add to the instructions; assistant items stay in order', () => {
  const parsed = parseCreateResponse({
    instructions: 'first',
    input: [
      { role: 'system', content: 'second' },
      { role: 'user', content: 'one' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'two' }] },
      { role: 'developer', content: [{ type: 'input_text', text: 'third' }] },
      { role: 'user', content: 'three' },
    ],
  });
  expect(parsed.instructions).toBe('first\n\nsecond\n\nthird');
  expect(
    parsed.messages.map(({ content }) => content.map((each) => (each.type === 'text' ? each.text : each.type)).join()),
  ).toEqual(['one', 'Your earlier answer in this conversation:\ntwo', 'three']);
  expect(parsed.inputItems).toHaveLength(5);
});

test('U-210: an inline file keeps its bytes, its name and its place', () => {
  const file = { type: 'input_file', filename: 'a.txt', file_data: fileOf('text/plain', 'the token é') };
  const input = [{ role: 'user', content: [{ type: 'input_text', text: 'read' }, file] }];
  expect(parseCreateResponse({ input }).messages[0]?.content[1]).toEqual({
    type: 'given-file',
    filename: 'a.txt',
    mediaType: 'text/plain',
    bytes: new TextEncoder().encode('the token é'),
    param: 'input[0].content[1]',
  });
});

test('U-202, U-203, UD-46: every key without effect is named, whatever its value', () => {
  const { ignoredFields } = parseCreateResponse({ input: 'x', tools: [], include: null, temperature: 1, store: true });
  expect(ignoredFields).toEqual(['tools', 'include', 'temperature']);
});

test('UD-06: with a stream, background is named and not acted on', () => {
  const parsed = parseCreateResponse({ input: 'x', stream: true, background: true });
  expect(parsed).toMatchObject({ stream: true, background: false, ignoredFields: ['background'] });
});

test('UD-29: client keys are kept, server keys are dropped and named', () => {
  const metadata = {
    harness_id: 'chrn_1',
    mine: { deep: [1] },
    session_id: 'x',
    reins_cost: 1,
    reins_events: 'true',
    reins_fork: false,
    environment: 'e',
  };
  const parsed = parseCreateResponse({ input: 'x', metadata });
  expect(parsed.harnessId).toBe('chrn_1');
  expect(parsed.reinsEvents).toBe(true);
  expect(parsed.metadata).toEqual({ mine: { deep: [1] }, reins_events: 'true', reins_fork: false });
  expect(parsed.ignoredFields).toEqual(['metadata.session_id', 'metadata.reins_cost', 'metadata.environment']);
});

test('UD-11: stream and background are no part of what a repeat is compared by', () => {
  const { bodyHashInput } = parseCreateResponse({ input: 'x', stream: true, background: true, model: 'm' });
  expect(bodyHashInput).toEqual({ input: 'x', model: 'm' });
});

test('A hostile nesting is refused, not followed', () => {
  let nested: unknown = 1;
  for (let depth = 0; depth < 100_000; depth++) nested = [nested];
  expect(refusal({ input: 'x', metadata: { nested } }).param).toBeNull();
});

test('E-106: lone surrogates are repaired at the door', () => {
  expect(parseCreateResponse({ input: 'a\ud83d' }).messages[0]?.content).toEqual([{ type: 'text', text: 'a\ufffd' }]);
});
