import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arbitraryPart } from '../../testing/arbitrary-part.ts';
import {
  edges,
  finishStep as step,
  nested,
  refused,
  roundTrips,
  toolResult as result,
} from '../../testing/part-vectors.ts';
import {
  decodeStreamPart,
  isStreamPartType,
  marshalStreamPart,
  marshalTagged,
  PartType,
  readStreamPart,
  readTagged,
  requireKeys,
  StreamPartError,
  UnknownPartTypeError,
  type StreamPart,
} from './index.ts';

const through = (part: unknown) => JSON.parse(marshalStreamPart(decodeStreamPart(part)));

function faultOf(work: () => unknown): StreamPartError {
  try {
    work();
  } catch (cause) {
    if (cause instanceof StreamPartError) return cause;
    throw cause;
  }
  throw new Error('Nothing was thrown.');
}
const decodeFault = (input: unknown) => faultOf(() => decodeStreamPart(input));

describe('P-110: round trips', () => {
  test.each(roundTrips)('%s', (_name, part) => {
    const text = marshalStreamPart(decodeStreamPart(JSON.stringify(part)));
    expect(JSON.parse(text)).toEqual(part);
    expect(text.startsWith(`{"type":${JSON.stringify('type' in part ? part.type : '')}`)).toBe(true);
  });

  test('every legal part of every type: what is written reads as what it was, `type` first, and reading is stable', () => {
    fc.assert(
      fc.property(arbitraryPart, (part) => {
        const text = marshalStreamPart(part);
        expect(text.startsWith(`{"type":"${part.type}"`)).toBe(true);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(part)));
        const read = decodeStreamPart(new TextEncoder().encode(`\uFEFF${text}`));
        expect(decodeStreamPart(marshalStreamPart(read))).toStrictEqual(read);
      }),
    );
  });

  test('P-009: counts that are not known and a reason without its word are keys with nothing in them', () => {
    expect(decodeStreamPart(step)).toStrictEqual({
      type: 'finish-step',
      finishReason: { unified: 'stop', raw: undefined },
      usage: {
        inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: undefined, text: undefined, reasoning: undefined },
      },
    });
  });

  test('P-020: required keys stand before optional ones, whatever order they came in', () => {
    const part = decodeStreamPart({ harnessMetadata: {}, delta: 'd', id: 'i', type: 'text-delta' });
    expect(marshalStreamPart(part)).toBe('{"type":"text-delta","id":"i","delta":"d","harnessMetadata":{}}');
  });
});

describe('P-111: rejects', () => {
  test.each(refused)('%s', (_name, input, fault) => {
    const found = decodeFault(input);
    expect(found).toMatchObject(fault);
    expect(found).not.toBeInstanceOf(UnknownPartTypeError);
  });

  test('P-010: 256 levels pass, and both limits are the caller’s to set', () => {
    expect(decodeStreamPart(`{"type":"raw","rawValue":${nested(255)}}`).type).toBe('raw');
    expect(faultOf(() => decodeStreamPart('{"type":"raw","rawValue":[]}', { maxDepth: 1 })).code).toBe('too_large');
    expect(faultOf(() => decodeStreamPart({ type: 'raw', rawValue: [1, 2, 3] }, { maxBytes: 4 })).code).toBe(
      'too_large',
    );
  });

  test('E1: an unknown type is an error of its own that holds the part, and a reader of logs gets it as it is', () => {
    const part = { type: 'steering-message', text: 'hi', deep: { a: [null] } };
    const found = decodeFault(JSON.stringify(part));
    expect(found).toBeInstanceOf(UnknownPartTypeError);
    expect(found).toMatchObject({ code: 'unknown_type', partType: 'steering-message', value: part });
    expect(readStreamPart(JSON.stringify(part))).toEqual({ kind: 'unknown', partType: part.type, value: part });
    expect(decodeFault({ type: 'toString' })).toBeInstanceOf(UnknownPartTypeError);
    expect(readStreamPart({ type: 'raw' })).toEqual({ kind: 'part', part: { type: 'raw', rawValue: null } });
    expect(faultOf(() => readStreamPart({ type: 'text-end' })).code).toBe('missing_key');
  });

  test('P-011: what is missing is named before what is wrong, and no message holds a value', () => {
    const found = decodeFault({ type: 'text-delta', id: 'sk-secret'.length });
    expect(found).toMatchObject({ code: 'missing_key', path: 'delta' });
    for (const input of ['{"type":"text-end","id":["sk-secret"]}', '{"sk-secret', '{"type":"sk-secret"}'])
      expect(decodeFault(input).message).not.toContain('sk-secret');
  });

  test('whatever is read, only typed errors come of it', () => {
    const anything = fc.anything({
      maxDepth: 4,
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
    });
    const mutated = fc
      .tuple(arbitraryPart, fc.nat(9), anything)
      .map(([part, at, value]) => ({ ...part, [Object.keys(part)[at] ?? 'extra']: value }));
    fc.assert(
      fc.property(fc.oneof(anything, mutated, fc.string(), fc.json(), fc.uint8Array()), (input) => {
        let part: StreamPart;
        try {
          part = decodeStreamPart(input);
        } catch (cause) {
          expect(cause).toBeInstanceOf(StreamPartError);
          return;
        }
        const again = decodeStreamPart(marshalStreamPart(part));
        const wellFormed = JSON.parse(
          JSON.stringify(part).replaceAll(/(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, '$1\uFFFD'),
        );
        expect(JSON.parse(JSON.stringify(again))).toEqual(wellFormed);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('P-112: where the two SDKs differ', () => {
  test.each(edges)('%s', (_name, input, written) => {
    expect(through(input)).toEqual(written);
  });

  test('E23: `__proto__` in free JSON is data, and nowhere more', () => {
    const text = '{"type":"tool-result","toolCallId":"c","toolName":"t","result":{"__proto__":{"polluted":true}}}';
    expect(marshalStreamPart(decodeStreamPart(text))).toBe(text);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(marshalStreamPart(decodeStreamPart('{"type":"text-end","__proto__":{"a":1},"id":"b"}'))).toBe(
      '{"type":"text-end","id":"b"}',
    );
    expect(marshalTagged('x', JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"type":"x","__proto__":{"a":1}}');
  });

  test('E24, E25: what is read stays as it was', () => {
    expect(decodeStreamPart('{"type":"raw","rawValue":["\\ud800",-0]}')).toStrictEqual({
      type: 'raw',
      rawValue: ['\uD800', -0],
    });
  });

  test('E26: nothing is escaped that JSON does not ask for', () => {
    expect(marshalStreamPart({ type: 'text-delta', id: 'a', delta: '<&>' })).toContain('"<&>"');
  });

  test('P-017: the input stays as it is, and shares nothing with what was read', () => {
    const input = Object.freeze({ ...result, result: Object.freeze({ a: Object.freeze([1]) }) });
    const read = decodeStreamPart(input);
    expect(read).toEqual(input);
    expect(read.type === 'tool-result' && read.result).not.toBe(input.result);
  });
});

describe('P-025: what cannot be written is refused', () => {
  const cycle: unknown[] = [];
  cycle.push(cycle, cycle);
  test.each<readonly [string, unknown]>([
    ['a missing key', { type: 'text-delta', id: 'a' }],
    ['a wrong type', { type: 'text-end', id: 1 }],
    ['an unknown type', { type: 'custom' }],
    ['NaN', { ...result, result: NaN }],
    ['infinity', { type: 'raw', rawValue: [Infinity] }],
    ['a bigint', { ...result, result: 1n }],
    ['a function', { type: 'raw', rawValue: () => 1 }],
    ['a date', { type: 'raw', rawValue: new Date(0) }],
    ['a cycle', { type: 'raw', rawValue: cycle }],
    ['more levels than are read', { type: 'raw', rawValue: JSON.parse('['.repeat(300) + ']'.repeat(300)) }],
  ])('%s', (_name, part) => {
    expect(faultOf(() => marshalStreamPart(part as StreamPart))).toMatchObject({
      code: 'unencodable',
      name: 'StreamPartError',
    });
  });

  test('P-023: an Error is its name, message and code, without a stack, however deep it lies', () => {
    const error = Object.assign(new TypeError('broken'), { code: 'E_X' });
    expect(JSON.parse(marshalStreamPart({ type: 'error', error }))).toEqual({
      type: 'error',
      error: { name: 'TypeError', message: 'broken', code: 'E_X' },
    });
    expect(JSON.parse(marshalStreamPart({ type: 'error', error: { cause: error, cycle, n: 1n } })).error).toEqual({
      cause: { name: 'TypeError', message: 'broken', code: 'E_X' },
      cycle: ['[circular]', '[circular]'],
      n: '1',
    });
    expect(marshalStreamPart({ type: 'error', error: undefined })).toBe('{"type":"error","error":null}');
  });
});

describe('P-113: helpers', () => {
  test('there are 19 types, and nothing else is one', () => {
    expect(Object.values(PartType).toSorted()).toEqual(
      [...new Set(roundTrips.map(([, part]) => ('type' in part ? String(part.type) : '')))].toSorted(),
    );
    expect(Object.values(PartType)).toHaveLength(19);
    expect(Object.values(PartType).every(isStreamPartType)).toBe(true);
    expect(['toString', '__proto__', 'Text-Delta', '', 1, null, ['raw']].some(isStreamPartType)).toBe(false);
  });

  test('a tagged object has its type first, whatever type it held', () => {
    expect(marshalTagged('x', {})).toBe('{"type":"x"}');
    expect(marshalTagged('x', { a: 1, type: 'y', b: undefined })).toBe('{"type":"x","a":1}');
    for (const value of [null, 'a', [], undefined, new Date(0), { a: NaN }])
      expect(faultOf(() => marshalTagged('x', value)).code).toBe('unencodable');
  });

  test('reading a tag takes any type and keeps every member', () => {
    expect(readTagged('{"a":[1],"type":"of-tomorrow"}')).toEqual({
      type: 'of-tomorrow',
      fields: { a: [1], type: 'of-tomorrow' },
    });
    expect(['x', '3', '{}', '{"type":1}'].map((data) => faultOf(() => readTagged(data)).code)).toEqual([
      'not_json',
      'not_object',
      'missing_type',
      'missing_type',
    ]);
  });

  test('of required keys the first one that is missing is named; null counts only where it may', () => {
    expect(faultOf(() => requireKeys('x', { a: 1, b: null }, ['a', 'b', 'c']))).toMatchObject({
      code: 'missing_key',
      partType: 'x',
      path: 'b',
    });
    expect(faultOf(() => requireKeys('x', { a: 1, b: null }, ['c', 'b'], ['b'])).path).toBe('c');
    expect(() => requireKeys('x', { b: null }, ['b'], ['b'])).not.toThrow();
  });
});

test('reins/parts exports these names and no others', async () => {
  expect(Object.keys(await import('./index.ts')).toSorted()).toEqual([
    'AdapterProtocolError',
    'CompactionTrigger',
    'FileChange',
    'FinishReasons',
    'IncompleteStreamError',
    'PartType',
    'StreamPartError',
    'TurnAssembler',
    'UnknownPartTypeError',
    'addUsage',
    'createToolOrigins',
    'createWorkDirStripper',
    'decodeStreamPart',
    'emptyUsage',
    'isStreamPartType',
    'marshalStreamPart',
    'marshalTagged',
    'readStreamPart',
    'readTagged',
    'requireKeys',
    'stripWorkDir',
    'toUIMessageChunks',
    'translatePart',
  ]);
});
