import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openFileNames, placeFile } from './place-file.ts';

let base: string;
let workspace: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'reins-place-'));
  workspace = join(base, 'workspace');
  mkdirSync(workspace);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const of = (text: string) => ({ sha256: createHash('sha256').update(text).digest('hex'), bytes: text.length });
const put = (name: string, text: string) => placeFile(workspace, name, async () => Buffer.from(text));

test('UD-44: what is taken is left alone, also where another spelling is the same file to some systems', async () => {
  for (const name of ['a.txt', 'Ä.txt', 'folder']) {
    if (name === 'folder') mkdirSync(join(workspace, name));
    else writeFileSync(join(workspace, name), 'old');
  }
  const names = await openFileNames(workspace);
  expect(await names.take('a.txt', of('new'))).toBe('a (2).txt');
  expect(await names.take('A.TXT', of('newer'))).toBe('A (3).TXT');
  expect(await names.take('a\u0308.txt', of('new'))).toBe('a\u0308 (2).txt');
  expect(await names.take('folder', of('new'))).toBe('folder (2)');
  expect(await names.take('../b.txt', of('new'))).toBe('b.txt');
});

test('F3: the same bytes under the same name are the same file', async () => {
  writeFileSync(join(workspace, 'a.txt'), 'same');
  const names = await openFileNames(workspace);
  expect(await names.take('a.txt', of('same'))).toBe('a.txt');
  expect(await names.take('b.txt', of('one'))).toBe('b.txt');
  expect(await names.take('b.txt', of('one'))).toBe('b.txt');
  expect(await names.take('b.txt', of('two'))).toBe('b (2).txt');
});

test('B119: nothing is written through a link, nor over what is there', async () => {
  symlinkSync(join(base, 'outside'), join(workspace, 'dangling'));
  writeFileSync(join(base, 'secret'), 'secret');
  symlinkSync(join(base, 'secret'), join(workspace, 'link'));
  writeFileSync(join(workspace, 'mine'), 'mine');
  for (const name of ['dangling', 'link', 'mine']) expect(await put(name, 'x')).toBe(false);
  expect(existsSync(join(base, 'outside'))).toBe(false);
  expect([readFileSync(join(base, 'secret'), 'utf8'), readFileSync(join(workspace, 'mine'), 'utf8')]).toEqual([
    'secret',
    'mine',
  ]);
  const names = await openFileNames(workspace);
  expect(await names.take('link', of('secret'))).toBe('link (2)');
  for (const name of ['../out', 'a/b', '..', '']) await expect(put(name, 'x')).rejects.toThrow();
  expect(existsSync(join(base, 'out'))).toBe(false);
});

test('UD-44: a file is there whole or not at all, and a crash in between is no hindrance', async () => {
  const broken = placeFile(workspace, 'a.txt', () => Promise.reject(new Error('gone')));
  await expect(broken).rejects.toThrow('gone');
  expect(readdirSync(workspace)).toEqual([]);
  const temporary = `.new-${createHash('sha256').update('a.txt').digest('hex').slice(0, 32)}`;
  writeFileSync(join(workspace, temporary), 'ha');
  expect(await put('a.txt', 'half no more')).toBe(true);
  expect(readdirSync(workspace)).toEqual(['a.txt']);
  expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('half no more');
  expect(lstatSync(join(workspace, 'a.txt')).nlink).toBe(1);
});
