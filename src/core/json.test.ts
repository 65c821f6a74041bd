import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, toJsonValue } from './json.ts';

test('E-009, E-551, B016: whatever a tool returns becomes strict JSON, and nothing throws', () => {
  fc.assert(
    fc.property(
      fc.anything({ withBigInt: true, withDate: true, withMap: true, withSparseArray: true, withObjectString: true }),
      (value) => {
        const json = toJsonValue(value);
        expect(JSON.parse(JSON.stringify(json))).toEqual(json);
        expect(JSON.stringify(json).isWellFormed()).toBe(true);
      },
    ),
  );
});

test('B016: cycles, throwing getters and odd numbers have a documented form', () => {
  const cycle: Record<string, unknown> = { n: NaN, big: 12n, none: undefined };
  cycle['self'] = cycle;
  expect(toJsonValue(cycle)).toEqual({ n: null, big: '12', self: '[circular]' });
  expect(
    toJsonValue({
      toJSON: () => {
        throw new Error('no');
      },
    }),
  ).toBe('[unserializable]');
});

test('UD-11: equal values have equal canonical text, whatever the order of their keys', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (fields) => {
      const turned = Object.fromEntries(Object.entries(fields).toReversed());
      expect(canonicalJson(toJsonValue(turned))).toBe(canonicalJson(toJsonValue(fields)));
    }),
  );
});
