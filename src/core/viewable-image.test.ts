import fc from 'fast-check';
import { crc32, deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { viewableImage } from './viewable-image.ts';

const bytes = (...pieces: (string | number[] | Uint8Array)[]) =>
  Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : Buffer.from(piece))));
const numbers = (size: 2 | 3 | 4, order: 'BE' | 'LE', ...values: number[]) =>
  bytes(
    ...values.map((value) => {
      const piece = Buffer.alloc(size);
      if (order === 'BE') piece.writeUIntBE(value, 0, size);
      else piece.writeUIntLE(value, 0, size);
      return piece;
    }),
  );

function chunk(type: string, data: Uint8Array): Buffer {
  const body = bytes(type, data);
  return bytes(numbers(4, 'BE', data.length), body, numbers(4, 'BE', crc32(body)));
}

function png(width: number, height: number): Buffer {
  const header = bytes(numbers(4, 'BE', width, height), [8, 0, 0, 0, 0]);
  return bytes('\x89PNG\r\n\x1a\n', chunk('IHDR', header), chunk('IDAT', deflateSync('\0\0')), chunk('IEND', bytes()));
}

const jpeg = (width: number, height: number) =>
  bytes(
    [0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2],
    [0xff, 0xc0, 0, 11, 8],
    numbers(2, 'BE', height, width),
    [1, 1, 0x11, 0],
    [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 7, 7, 7, 0xff, 0xd9],
  );
const gif = (width: number, height: number) => bytes('GIF89a', numbers(2, 'LE', width, height), [0, 0, 0, 7, 0x3b]);
const webp = (width: number, height: number) =>
  bytes('RIFF', numbers(4, 'LE', 22), 'WEBPVP8X', numbers(4, 'LE', 10, 0), numbers(3, 'LE', width - 1, height - 1));

const kinds = [
  ['image/png', png],
  ['image/jpeg', jpeg],
  ['image/gif', gif],
  ['image/webp', webp],
] as const;

test.each(kinds)('UD-44: a whole %s is known by its bytes', (type, make) => {
  expect(viewableImage(make(640, 480))).toBe(type);
});

test.each(kinds)('B123: a %s that is cut off anywhere is none', (_type, make) => {
  const whole = make(640, 480);
  for (let length = 0; length < whole.length; length++) expect(viewableImage(whole.subarray(0, length))).toBeNull();
});

test.each(kinds)('B123: a %s of more pixels than providers take is not shown', (type, make) => {
  expect(viewableImage(make(8_000, 8_000))).toBe(type);
  expect(viewableImage(make(8_001, 1))).toBeNull();
  expect(viewableImage(make(1, 8_001))).toBeNull();
});

test('B123: a PNG with any bit changed is none', () => {
  const whole = png(2, 2);
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(7), (at, bit) => {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      expect(viewableImage(changed)).toBeNull();
    }),
  );
});

test('B123: other images, documents, too many bytes and noise are not shown', () => {
  for (const text of ['', '<svg/>', '%PDF-1.7 %%EOF', 'BM______', 'II*\0________'])
    expect(viewableImage(bytes(text))).toBeNull();
  expect(viewableImage(bytes(gif(1, 1).subarray(0, -1), new Uint8Array(4_000_000), [0x3b]))).toBeNull();
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => viewableImage(noise) === null));
});
