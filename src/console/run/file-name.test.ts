import fc from 'fast-check';
import { expect, test } from 'vitest';
import { safeFileName } from './file-name.ts';

test.each([
  ['notes/a.txt', 'a.txt'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\windows\\evil.exe', 'evil.exe'],
  ['.bashrc', 'bashrc'],
  ['a\u202Egpj.exe', 'agpj.exe'],
  ['a\r\nSet-Cookie: x.txt', 'aSet-Cookie_ x.txt'],
  ['con.txt', '_con.txt'],
  ['a.txt. .', 'a.txt'],
  ['..', 'file'],
  ['', 'file'],
  [`${'x'.repeat(400)}.tar.gz`, `${'x'.repeat(177)}.gz`],
])('C-053: %j is saved as %j', (path, name) => {
  expect(safeFileName(path)).toBe(name);
});

test('C-053: whatever an agent calls a file, its name leads nowhere, hides nothing and can be written', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (path) => {
      const name = safeFileName(path);
      expect(name).toMatch(/^[^./\\<>:"|?*\p{Cc}\p{Cf}][^/\\<>:"|?*\p{Cc}\p{Cf}]*$/u);
      expect(name.isWellFormed() && name.length <= 181 && !/[. ]$/.test(name)).toBe(true);
      expect(safeFileName(name)).toBe(name);
    }),
  );
});
