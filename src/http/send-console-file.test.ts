import { expect, test } from 'vitest';
import { chosenEncoding } from './send-console-file.ts';

test.each([
  [undefined, null],
  ['', null],
  ['identity', null],
  ['gzip, deflate, br, zstd', 'br'],
  ['GZIP', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br; q=0.0, gzip; q=0.5', 'gzip'],
  ['br;q=0.001', 'br'],
  ['x-br, gzipped', null],
] as const)('of what is accepted by %j the best is %j', (header, encoding) => {
  expect(chosenEncoding(header)).toBe(encoding);
});
