import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeText } from './decode-text.ts';

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
    const to = Math.min(Math.max(cut, from), bytes.length);
    yield bytes.subarray(from, to);
    from = to;
  }
}

const decoded = async (chunks: AsyncIterable<Uint8Array>) => (await Array.fromAsync(decodeText(chunks))).join('');

test('B001: text cut at every offset, and into single bytes, comes out as it was, a byte order mark included', async () => {
  const text = '\ufeffa\u00e9\u20ac\u{1f600}z';
  const bytes = Buffer.from(text);
  for (let cut = 0; cut <= bytes.length; cut++) expect(await decoded(chunksOf(bytes, [cut]))).toBe(text);
  expect(await decoded(chunksOf(bytes, [...bytes.keys()]))).toBe(text);
});

test('B001: any text in any chunks comes out as it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), fc.array(fc.nat(60)), async (text, cuts) => {
      const whole = text.toWellFormed();
      expect(await decoded(chunksOf(Buffer.from(whole), cuts))).toBe(whole);
    }),
  );
});

test('E-551: bytes that are no text, and a character that is never finished, become well-formed text', async () => {
  for (const bytes of [
    [0xff, 0x61],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x9f],
  ]) {
    const text = await decoded(chunksOf(Uint8Array.from(bytes), []));
    expect(text.isWellFormed()).toBe(true);
    expect(text).toContain('\ufffd');
  }
});
