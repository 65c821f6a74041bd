import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, toJsonValue } from './json.ts';

/** Any UTF-16 units, lone surrogates among them. */
const utf16 = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd800, max: 0xdfff })), { maxLength: 6 })
  .map((units) => String.fromCharCode(...units));
const anyValue = fc.anything({
  key: utf16,
  values: [utf16, fc.double(), fc.boolean(), fc.constantFrom(null, undefined, Symbol('s'), () => 1, new Error('no'))],
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
  withBoxedValues: true,
  withNullPrototype: true,
  withSparseArray: true,
  withObjectString: true,
});

test('E-009, E-551, B016: whatever a tool returned becomes strict JSON, which stays as it is, and nothing throws', () => {
  fc.assert(
    fc.property(anyValue, (value) => {
      const json = toJsonValue(value);
      expect(JSON.parse(JSON.stringify(json))).toEqual(json);
      JSON.stringify(json, (key, member: unknown) => {
        expect([key, member].every((text) => typeof text !== 'string' || text.isWellFormed())).toBe(true);
        return member;
      });
      expect(toJsonValue(json)).toEqual(json);
    }),
  );
});

test('B016: what JSON cannot carry has a documented form', () => {
  const cycle: Record<string, unknown> = { n: NaN, big: 12n, none: undefined, run: () => 1, sign: Symbol('s') };
  cycle['self'] = [cycle];
  expect(toJsonValue(cycle)).toEqual({ n: null, big: '12', self: ['[circular]'] });
  expect(toJsonValue([undefined, () => 1, Symbol('s'), -Infinity, -0])).toEqual([null, null, null, null, 0]);
  expect(toJsonValue(undefined)).toBeNull();
  expect(toJsonValue([new Date(0), new Date(NaN), new URL('http://a.test/')])).toEqual([
    '1970-01-01T00:00:00.000Z',
    null,
    'http://a.test/',
  ]);
  expect(toJsonValue({ map: new Map([[{ a: 1n }, 2]]), set: new Set(['x', 'x']) })).toEqual({
    map: [[{ a: '1' }, 2]],
    set: ['x'],
  });
  expect(toJsonValue([Buffer.from('abc'), new Float64Array(2), new ArrayBuffer(5)])).toEqual([
    { bytes: 3 },
    { bytes: 16 },
    { bytes: 5 },
  ]);
  expect(toJsonValue({ '\ud800key': 'a\udc00' })).toEqual({ '\ufffdkey': 'a\ufffd' });
});

test('P-023: an error is its name, message and code, without stack and request', () => {
  const error = Object.assign(new TypeError('no'), { code: 'E_NO', toJSON: () => ({ secret: 1 }) });
  expect(toJsonValue({ error })).toEqual({ error: { name: 'TypeError', message: 'no', code: 'E_NO' } });
});

test('B016: what throws while it is read takes only its own place', () => {
  const throws = () => {
    throw new Error('no');
  };
  const value = Object.defineProperty({ before: 1 }, 'bad', { enumerable: true, get: throws });
  const hostile = new Proxy({}, { ownKeys: throws });
  expect(toJsonValue({ value, hostile, made: { toJSON: throws } })).toEqual({
    value: { before: 1, bad: '[unserializable]' },
    hostile: '[unserializable]',
    made: '[unserializable]',
  });
});

test('a structure without end is cut, also one that toJSON makes up; a value met twice is no cycle', () => {
  let deep: unknown = 'core';
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(JSON.stringify(toJsonValue(deep))).toBe(`${'['.repeat(500)}"[too deep]"${']'.repeat(500)}`);
  const endless = { toJSON: (): unknown => ({ ...endless }) };
  expect(toJsonValue(endless)).toBe('[too deep]');
  const shared = { a: 1 };
  expect(toJsonValue([shared, shared])).toEqual([shared, shared]);
});

test('UD-11: equal values have equal canonical text, whatever the order of their keys', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
      const turned = Object.fromEntries(Object.entries(fields).toReversed());
      expect(canonicalJson(toJsonValue(turned))).toBe(canonicalJson(toJsonValue(fields)));
    }),
  );
});
