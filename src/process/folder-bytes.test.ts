import { expect, test } from 'vitest';
import { folderBytes } from './folder-bytes.ts';
import { join } from 'node:path';
import { mkdirSync, mkdtempDisposableSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

const folderOf = () => mkdtempDisposableSync(join(tmpdir(), 'reins-bytes-'));
const all = () => true;

test('files and folders without content weigh, too: who makes only these is counted and is stopped in time', async () => {
  using folder = folderOf();
  const deep = join(folder.path, 'a', 'b');
  mkdirSync(deep, { recursive: true });
  for (let n = 0; n < 100; n++) writeFileSync(join(deep, String(n)), '');
  expect(await folderBytes(folder.path, all)).toBe(102 * 4_096);
  const looked: number[] = [];
  await folderBytes(folder.path, (bytes) => looked.push(bytes) < 5);
  expect(looked).toHaveLength(5);
});

test('what a link points to is not counted, a hole in a file neither, and what is not there is nothing', async () => {
  using folder = folderOf();
  using other = folderOf();
  writeFileSync(join(other.path, 'big'), Buffer.alloc(1_000_000, 1));
  symlinkSync(other.path, join(folder.path, 'link'));
  expect(await folderBytes(folder.path, all)).toBe(4_096);
  expect(await folderBytes(other.path, all)).toBeGreaterThanOrEqual(1_000_000);
  rmSync(other.path, { recursive: true });
  expect(await folderBytes(other.path, all)).toBe(0);
  mkdirSync(other.path);
});
