import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keepEnds } from './keep-ends.ts';

function keep(maxBytes: number, chunks: readonly Uint8Array[]): string {
  const kept = keepEnds(maxBytes);
  for (const chunk of chunks) kept.add(chunk);
  return kept.text();
}

test('what fits is kept as it is', () => {
  expect(keep(10, [])).toBe('');
  expect(keep(10, [Buffer.from('0123'), Buffer.from('456789')])).toBe('0123456789');
});

test('of more, both ends stay and the bytes between are counted', () => {
  expect(keep(4, [Buffer.from('abcdefgh')])).toBe('ab\n[… 4 bytes left out …]\ngh');
});

test('the ends do not depend on how the bytes came', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 30 })), fc.integer({ min: 1, max: 12 }), (chunks, half) => {
      const bytes = Buffer.concat(chunks.map((chunk) => chunk.map((byte) => 97 + (byte % 26))));
      const text = bytes.toString();
      const left = bytes.length - 2 * half;
      const expected = left <= 0 ? text : `${text.slice(0, half)}\n[… ${left} bytes left out …]\n${text.slice(-half)}`;
      expect(keep(2 * half, [bytes])).toBe(expected);
      expect(
        keep(
          2 * half,
          [...bytes].map((byte) => Uint8Array.of(byte)),
        ),
      ).toBe(expected);
      const inPieces = chunks.map((chunk) => chunk.map((byte) => 97 + (byte % 26)));
      expect(keep(2 * half, inPieces)).toBe(expected);
    }),
  );
});

test('E-551: a cut falls between characters, never within one', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', '\u00e9', '\u20ac', '\u{1f600}') }),
      fc.integer({ min: 4, max: 30 }),
      (text, max) => {
        const shown = keep(max, [Buffer.from(text)]);
        expect(shown).not.toContain('\ufffd');
        const [, start = text, end = ''] = /^(.*)\n\[… \d+ bytes left out …\]\n(.*)$/.exec(shown) ?? [];
        expect(text.startsWith(start) && text.endsWith(end)).toBe(true);
      },
    ),
  );
});
