import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namesLike, safeName } from './safe-name.ts';

test('B121: a name is never a path, a device or empty, and fits every file system', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 600 }), fc.string({ maxLength: 600 })), (name) => {
      const safe = safeName(name);
      expect(safe).not.toMatch(/[/\\\p{Cc}<>:"|?*]/u);
      expect(safe).not.toMatch(/^\.*$/);
      expect(safe).not.toMatch(/[. ]$/);
      expect(Buffer.byteLength(safe)).toBeLessThanOrEqual(255);
      expect(safe.isWellFormed()).toBe(true);
      expect(safe).not.toMatch(/^(?:con|nul|com1)(?:\.|$)/i);
    }),
  );
});

test('B121: hostile names keep what is harmless of them', () => {
  const names = {
    'notes.txt': 'notes.txt',
    '../../etc/passwd': 'passwd',
    'C:\\Users\\x\\a.txt': 'a.txt',
    'a\0b\nc.txt': 'a b c.txt',
    'CON.txt': '_CON.txt',
    'say "hi".md': 'say _hi_.md',
    '..': 'file',
    '': 'file',
    'ends. . ': 'ends',
    '\u202Egnp.exe': 'gnp.exe',
  };
  expect(Object.keys(names).map(safeName)).toEqual(Object.values(names));
  const long = safeName(`${'ä'.repeat(300)}.pdf`);
  expect(long).toMatch(/^ä+\.pdf$/);
});

test('UD-44: a name that is taken gets a number before its ending', () => {
  const first = (name: string) => namesLike(name).take(3).toArray();
  expect(first('a.txt')).toEqual(['a.txt', 'a (2).txt', 'a (3).txt']);
  expect(first('b')).toEqual(['b', 'b (2)', 'b (3)']);
  expect(first('.env')).toEqual(['.env', '.env (2)', '.env (3)']);
  const long = namesLike(safeName(`${'ä'.repeat(300)}.pdf`))
    .take(3)
    .toArray();
  expect(long.every((name) => Buffer.byteLength(name) <= 255 && name.endsWith('.pdf'))).toBe(true);
});

test('B121: a name as long as a header can be is cut at once', () => {
  expect(Buffer.byteLength(safeName('ä'.repeat(40_000)))).toBe(254);
  expect(safeName(`${'a'.repeat(254)} b`)).toBe('a'.repeat(254));
});
