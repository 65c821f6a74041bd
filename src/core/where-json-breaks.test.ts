import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { whereJsonBreaks } from './where-json-breaks.ts';

test.each([
  ['{\n  "a": secret\n}', 2, 8],
  ['{\n  "a": 1,\n}', 3, 1],
  ['{"a": 1}\nx', 2, 1],
  ['[1 2]', 1, 4],
  ['{"a"', 1, 5],
  ['{"a": tru}', 1, 10],
  ["{\n\t'a': 1}", 2, 2],
  ['{"a": "\n"}', 1, 8],
  ['// a remark\n{}', 1, 1],
  ['', 1, 1],
])('%j breaks at line %d, column %d', (source, line, column) => {
  expect(whereJsonBreaks(source)).toEqual({ line, column });
});

test('what is JSON breaks nowhere', () => {
  fc.assert(fc.property(fc.json(), (source) => whereJsonBreaks(source) === null));
});

test('a stray character is found wherever it stands between two values', () => {
  fc.assert(
    fc.property(fc.array(fc.json(), { minLength: 1 }), fc.nat(), (values, n) => {
      const at = n % values.length;
      const before = `[${values
        .slice(0, at)
        .map((value) => `${value},\n`)
        .join('')}`;
      const lines = before.split('\n');
      const place = { line: lines.length, column: (lines.at(-1) ?? '').length + 1 };
      expect(whereJsonBreaks(`${before}?${values.slice(at).join(',')}]`)).toEqual(place);
    }),
  );
});
