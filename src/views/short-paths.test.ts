import { expect, test } from 'vitest';
import { shortensPaths } from './short-paths.ts';

test('A-033: a path into the workspace is told from the directory of the turn', () => {
  const short = shortensPaths('/data/ann-1', '.');
  expect(short('/data/ann-1/src/a.ts · 3 lines')).toBe('src/a.ts · 3 lines');
  expect(short('cd /data/ann-1 && ls "/data/ann-1/"')).toBe('cd . && ls "."');
  const below = shortensPaths('/data/ann-1', 'src/lib');
  expect(below('/data/ann-1/src/lib/a.ts /data/ann-1/src/b.ts /data/ann-1')).toBe('a.ts ../../src/b.ts ../..');
  expect(below('/data/ann-1/src/library/x')).toBe('../../src/library/x');
});

test('A-033: what only begins alike is no path into it, and without a workspace all stays', () => {
  expect(shortensPaths('/data/a.b', '.')('/data/a.b-2/x /data/a.b.c /data/axb/x /data/a.b.')).toBe(
    '/data/a.b-2/x /data/a.b.c /data/axb/x ..',
  );
  expect(shortensPaths(null, 'src')('/data/x')).toBe('/data/x');
});
