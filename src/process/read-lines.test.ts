import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OversizedLineError, readLines } from './read-lines.ts';

async function* bytesOf(...pieces: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}
const read = (...pieces: readonly (string | Uint8Array)[]) => Array.fromAsync(readLines(bytesOf(...pieces)));

test('H-120: lines end at LF alone, and one CR before it is no part of them', async () => {
  const lines = await read('one\r', '\ntwo\u2028still two\r\r\n', '\n', 'a\rb\n');
  expect(lines.map(({ text }) => text)).toEqual(['one', 'two\u2028still two\r', '', 'a\rb']);
});

test('B138: a last line without its end is told from a complete one', async () => {
  expect(await read('{"a":1}\n{"a"')).toEqual([
    { text: '{"a":1}', complete: true },
    { text: '{"a"', complete: false },
  ]);
  expect(await read('')).toEqual([]);
});

test('H-120: lines do not depend on how their bytes are cut', async () => {
  const unit = fc.constantFrom('a', '\n', '\r', '\u00e9', '\u20ac', '\u{1f600}', '\u2028');
  await fc.assert(
    fc.asyncProperty(fc.string({ unit }), fc.integer({ min: 1, max: 7 }), async (text, size) => {
      const bytes = Buffer.from(text);
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(await read(...pieces)).toEqual(await read(bytes));
    }),
  );
});

test('H-121: a line beyond the limit is refused before it is kept, also when it never ends', async () => {
  await expect(Array.fromAsync(readLines(bytesOf('short\n', 'x'.repeat(11)), 10))).rejects.toThrow(OversizedLineError);
  await expect(Array.fromAsync(readLines(bytesOf('x'.repeat(10), '\n', 'y'.repeat(10)), 10))).resolves.toHaveLength(2);
});

test('H-110: who asks is told how much of a line has come, and nothing once its end is there', async () => {
  const seen: number[] = [];
  const pieces = ['ab', 'cd\nef', 'g', '\n', 'h\n'].map((piece) => Buffer.from(piece));
  const source = (async function* () {
    yield* pieces;
  })();
  const lines = await Array.fromAsync(readLines(source, undefined, (units) => seen.push(units)));
  expect(lines.map(({ text }) => text)).toEqual(['abcd', 'efg', 'h']);
  expect(seen).toEqual([2, 2, 3]);
});
