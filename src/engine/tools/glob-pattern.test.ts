import { matchesGlob } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseGlob } from './glob-pattern.ts';

test.each([
  ['**/*.ts', 'a.ts', true],
  ['**/*.ts', 'x/y/a.ts', true],
  ['*.ts', 'x/a.ts', false],
  ['src/**', 'src/a/b', true],
  ['src/**/test/*.{ts,tsx}', 'src/a/b/test/x.tsx', true],
  ['./a', 'a', true],
  ['*.yml', '.hidden.yml', true],
  ['[!a-c]?[xyz]', 'd🐈y', true],
  ['[!a-c]', 'b', false],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['a{b,c{d,e}}f', 'acef', true],
  ['{a,b', '{a,b', true],
  ['{a}', '{a}', true],
  ['[', '[', true],
  ['', 'a', false],
])('%j on %j: %s', (pattern, path, expected) => {
  expect(parseGlob(pattern)(path)).toBe(expected);
});

test('a pattern that backtracks in an expression is decided at once', () => {
  expect(parseGlob(`${'*a'.repeat(200)}b`)('a'.repeat(255))).toBe(false);
  expect(parseGlob(`${'**/a/'.repeat(100)}b`)('a/'.repeat(1000))).toBe(false);
  expect(() => parseGlob('{a,b}'.repeat(20))).toThrow('alternatives');
});

test('it agrees with the platform on names without dots', () => {
  const part = fc.constantFrom('a', 'b', '*', '?', '[ab]', '[!a]', '{a,b}', '{a,*b}', 'c');
  const segment = fc.oneof(
    fc.constant('**'),
    fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
  );
  const pattern = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'));
  const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 });
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
  fc.assert(
    fc.property(pattern, path, (text, file) => {
      fc.pre(text.split('{').length <= 6); // more alternatives are refused
      expect(parseGlob(text)(file)).toBe(matchesGlob(file, text));
    }),
    { numRuns: 2000 },
  );
});
