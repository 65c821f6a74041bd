import { afterEach, expect, test } from 'vitest';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { tmpdir } from 'node:os';
import { createPrincipalFolders } from './principal-folders.ts';
import { StorageError } from '../core/errors.ts';

const made: string[] = [];
afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

async function open() {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'reins-principals-')));
  made.push(root);
  const folders = createPrincipalFolders(join(root, 'all'));
  return { root, folders };
}

test('A-014: a principal has one folder that lasts, apart from those of others whatever they are called', async () => {
  const { root, folders } = await open();
  const names = ['alice', 'Alice', '..', '../alice', 'a/b', 'ä', 'x'.repeat(100)];
  const paths = await Promise.all(names.map((name) => folders.ensure(name, '.')));
  expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(names.length);
  expect(paths.map(dirname)).toEqual(names.map(() => join(root, 'all')));
  expect(paths.every((path) => basename(path).length < 100)).toBe(true);
  expect(await folders.ensure('alice', '.')).toBe(paths[0]);
});

test('A-014: a directory is made when the turn begins, and not by looking', async () => {
  const { root, folders } = await open();
  expect(await folders.faultOf('alice', 'a/b')).toBeNull();
  expect(await readdir(root)).toEqual([]);
  expect(await folders.ensure('alice', 'a/b')).toBe(join(await folders.ensure('alice', '.'), 'a', 'b'));
  expect(await folders.faultOf('alice', 'a/b/c')).toBeNull();
});

test('A-014: a link, a file and what can be no name are no directories', async () => {
  const { root, folders } = await open();
  const own = await folders.ensure('alice', '.');
  await symlink('/etc', join(own, 'out'));
  await mkdir(join(own, 'a'));
  await symlink(join(own, 'a'), join(own, 'in'));
  await writeFile(join(own, 'file'), '');
  for (const cwd of ['out', 'out/ssl', 'in', 'in/x'])
    expect(await folders.faultOf('alice', cwd)).toBe('the path leaves the workspace');
  for (const cwd of ['file', 'file/x', 'x'.repeat(300)])
    expect(await folders.faultOf('alice', cwd)).toBe('a part of the path is not a directory');
  for (const cwd of ['out/made', 'in', 'file', 'x'.repeat(300)])
    await expect(folders.ensure('alice', cwd)).rejects.toThrow(StorageError);
  expect(await readdir(root)).toEqual(['all']);
});
