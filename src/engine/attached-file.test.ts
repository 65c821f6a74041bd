import { expect, test } from 'vitest';
import fc from 'fast-check';
import { attachedFileText, readAttachedFile } from './attached-file.ts';

test('E-908: a file comes out of its prompt text as it went in, whatever its name and text', () => {
  const anything = fc.string({ unit: 'binary' });
  fc.assert(
    fc.property(anything, anything, (filename, text) => {
      expect(readAttachedFile(attachedFileText(filename, text))).toEqual({ filename, text });
    }),
  );
});

test('other text is no attached file', () => {
  for (const text of ['', 'hello', 'Attached file notes.txt:\nx', 'Attached file "a', ' Attached file "a":\nx']) {
    expect(readAttachedFile(text)).toBeNull();
  }
  expect(readAttachedFile('Attached file "\\q":\nx')).toEqual({ filename: '\\q', text: 'x' });
});
