import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseCwd } from './agent-cwd.ts';

const told = (given: string) => {
  const parsed = parseCwd(given);
  return parsed.ok ? parsed.cwd : parsed.why;
};

test.each([
  ['', '.'],
  ['  ', '.'],
  ['.', '.'],
  ['src', 'src'],
  ['./src//lib/', 'src/lib'],
  ['a/../b', 'b'],
  ['a\\b', 'a/b'],
  ['~', '~'],
  ['../x', 'the path leaves the workspace'],
  ['a/../../b', 'the path leaves the workspace'],
  ['/etc', 'absolute paths are not allowed'],
  ['C:\\x', 'absolute paths are not allowed'],
  ['c:/x', 'absolute paths are not allowed'],
  ['\\\\srv\\x', 'absolute paths are not allowed'],
  ['./c:/x', 'absolute paths are not allowed'],
  ['  /etc', 'absolute paths are not allowed'],
  ['a\u0000b', 'control characters are not allowed'],
  ['a\nb', 'control characters are not allowed'],
  ['\tsrc', 'control characters are not allowed'],
  ['a\u007f', 'control characters are not allowed'],
])('A-015: %j is %s', (given, result) => {
  expect(told(given)).toBe(result);
});

test('A-015: what passes is below the root, and passes again as it is', () => {
  const segment = fc.constantFrom('..', '.', '', 'a', 'b', '~', '\\', 'c:');
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 8 }), (segments) => {
      const parsed = parseCwd(segments.join('/'));
      if (!parsed.ok) return;
      expect(parsed.cwd.split('/')).not.toContain('..');
      expect(parseCwd(parsed.cwd)).toEqual(parsed);
    }),
  );
});
