// How a working directory stands, by looking at it alone: nothing is opened, no link is followed.
//
// W1. What is no regular file is noted (a link) or passed over (a pipe, a device, a socket): it is never opened.
// W2. A file that has a second name outside is passed over: what is there may belong to somebody else (B119).
// W3. Two states are compared by size, times, inode and mode; a file that was written in place differs.
// W4. A directory of any size costs bounded memory: after `mostEntries` the state is `cut`, and says so.

import type { BigIntStats } from 'node:fs';
import { lstat, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';

export type Entry =
  | { readonly kind: 'file'; readonly bytes: number; readonly mode: number; readonly stamp: string }
  | { readonly kind: 'link'; readonly target: string };

export interface WorkspaceState {
  /** By path below the directory, with `/`. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** Passed over, by path. */
  readonly skipped: readonly string[];
  readonly cut: boolean;
}

const mostEntries = 100_000;

export async function readState(root: string): Promise<WorkspaceState> {
  const entries = new Map<string, Entry>();
  const skipped: string[] = [];
  const named = new Map<string, { readonly names: string[]; readonly nlink: bigint }>();
  let cut = false;

  async function walk(folder: string): Promise<void> {
    for await (const { name } of await opendir(join(root, folder))) {
      if (entries.size >= mostEntries) return void (cut = true);
      const path = folder === '' ? name : `${folder}/${name}`;
      const stats = await lstat(join(root, path), { bigint: true }).catch(() => null);
      if (stats === null) continue;
      if (stats.isDirectory()) await walk(path).catch(() => void skipped.push(path));
      else if (stats.isSymbolicLink()) await noteLink(path);
      else if (stats.isFile()) noteFile(path, stats);
      else skipped.push(path);
    }
  }

  async function noteLink(path: string): Promise<void> {
    const target = await readlink(join(root, path)).catch(() => null);
    if (target !== null) entries.set(path, { kind: 'link', target });
  }

  function noteFile(path: string, stats: BigIntStats): void {
    entries.set(path, { kind: 'file', bytes: Number(stats.size), mode: Number(stats.mode), stamp: stampOf(stats) });
    if (stats.nlink === 1n) return;
    const key = `${stats.dev}:${stats.ino}`;
    const known = named.get(key);
    if (known === undefined) named.set(key, { names: [path], nlink: stats.nlink });
    else known.names.push(path);
  }

  await walk('');
  for (const { names, nlink } of named.values()) {
    if (BigInt(names.length) >= nlink) continue;
    for (const path of names) entries.delete(path);
    skipped.push(...names);
  }
  return { entries, skipped, cut };
}

/** What tells that a file is the one that was looked at before. */
export function stampOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(':');
}

/** Folders that no artifact is in: version control, dependencies, caches (UD-53). */
const uninteresting: ReadonlySet<string> = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '.venv',
  'venv',
  '__pycache__',
  '.cache',
  '.pytest_cache',
  '.mypy_cache',
  '.ruff_cache',
  '.npm',
  '.tox',
]);

export function mayBeArtifact(path: string): boolean {
  return !path
    .split('/')
    .slice(0, -1)
    .some((folder) => uninteresting.has(folder));
}
