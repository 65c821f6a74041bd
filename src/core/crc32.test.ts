import fc from 'fast-check';
import { crc32 } from './crc32.ts';
import { crc32 as ofNode } from 'node:zlib';
import { expect, test } from 'vitest';

test('any bytes have the sum that zlib reckons', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
      expect(crc32(bytes)).toBe(ofNode(bytes));
    }),
  );
});
