import { afterEach, expect, test } from 'vitest';
import { appendFile, mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keepFile, type Keeping } from './keep-file.ts';
import { readEntry, readState, type FileEntry } from './workspace-state.ts';
import { tmpdir } from 'node:os';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function open() {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'reins-keep-')));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const [root, kept] = [join(folder, 'root'), join(folder, 'kept')];
  const keeping: Keeping = { folder: kept, put: ({ path, sha256 }) => rename(path, join(kept, sha256)) };
  for (const path of [root, kept, join(root, 'deep')]) await mkdir(path);
  await writeFile(join(root, 'deep/file'), 'text');
  const look = async (path: string): Promise<FileEntry> => {
    const entry = await readEntry(join(root, path));
    if (entry === null) throw new Error('There is no such file.');
    return entry;
  };
  return { folder, root, kept, keeping, look };
}

test('B119: a folder that is swapped for a link between the look and the copy leads nowhere', async () => {
  const { folder, root, kept, keeping } = await open();
  await rename(join(root, 'deep'), join(folder, 'elsewhere'));
  await symlink(join(folder, 'elsewhere'), join(root, 'deep'));
  // What a walk that was misled would say of it.
  const entry = await readEntry(join(folder, 'elsewhere/file'));
  expect(entry).not.toBeNull();
  if (entry !== null) expect(await keepFile(join(root, 'deep/file'), entry, keeping)).toBeNull();
  expect(await readdir(kept)).toEqual([]);
});

test('B119: a file that is swapped for a link or another file is not kept', async () => {
  const { folder, root, kept, keeping, look } = await open();
  const entry = await look('deep/file');
  await writeFile(join(folder, 'secret'), 'text');
  await rm(join(root, 'deep/file'));
  await symlink(join(folder, 'secret'), join(root, 'deep/file'));
  expect(await keepFile(join(root, 'deep/file'), entry, keeping)).toBeNull();
  await rm(join(root, 'deep/file'));
  await writeFile(join(root, 'deep/file'), 'text');
  expect(await keepFile(join(root, 'deep/file'), entry, keeping)).toBeNull();
  expect(await readdir(kept)).toEqual([]);
});

test('a file that grows faster than it is copied is given up, not followed', async () => {
  const { root, kept, keeping } = await open();
  await writeFile(join(root, 'log'), Buffer.alloc(4 * 1024 * 1024));
  const entry = await readEntry(join(root, 'log'));
  const copied = new AbortController();
  const writer = (async () => {
    while (!copied.signal.aborted) await appendFile(join(root, 'log'), Buffer.alloc(1024 * 1024));
  })();
  expect(entry === null ? '' : await keepFile(join(root, 'log'), entry, keeping)).toBeNull();
  copied.abort();
  await writer;
  expect(await readdir(kept)).toEqual([]);
});

test('W4: where there is more than can be looked at, caches come last and the state says how far it goes', async () => {
  const { root } = await open();
  await mkdir(join(root, 'node_modules'));
  for (let number = 0; number < 20; number++) await writeFile(join(root, 'node_modules', `${number}`), '');
  const whole = await readState(root);
  expect([whole.extent, whole.entries.size]).toEqual(['whole', 23]);
  const own = await readState(root, { mostEntries: 10 });
  expect(own.extent).toBe('own');
  expect([...own.entries.keys()]).toContain('deep/file');
  expect(own.skipped).toEqual(['node_modules']);
  expect((await readState(root, { mostEntries: 1 })).extent).toBe('part');
});
