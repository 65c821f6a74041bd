import fc from 'fast-check';
import { expect, test } from 'vitest';
import { offeredName } from './offered-name.ts';

test('E-903: the plain form where it fits, with other characters replaced', () => {
  expect(offeredName('git', 'log', new Set())).toBe('git_log');
  expect(offeredName('my server', 'get.things/ü😀', new Set())).toBe('my_server_get_things___');
});

test('a long or taken name is cut and gets a hash, the same every time', () => {
  const long = offeredName('server', 'x'.repeat(80), new Set());
  expect(long).toMatch(/^server_x+_[0-9a-f]{8}$/);
  expect(long).toHaveLength(64);
  expect(offeredName('server', 'x'.repeat(80), new Set())).toBe(long);
  expect(offeredName('server', 'x'.repeat(81), new Set())).not.toBe(long);
  expect(offeredName('a', 'b_c', new Set(['a_b_c']))).toMatch(/^a_b_c_[0-9a-f]{8}$/);
});

test('every name is one that providers take', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.boolean(),
      (server, tool, isTaken) => {
        expect(offeredName(server, tool, { has: () => isTaken })).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      },
    ),
  );
});
