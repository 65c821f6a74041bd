// How a working directory stands, by looking at it alone: no file is opened, no link is followed.
//
// W1. What is no regular file is noted (a folder, a link) or passed over (a pipe, a device, a socket): it is never opened.
// W2. A file that has a second name outside is passed over: what is there may belong to somebody else (B119).
// W3. Two states are compared by size, times and inode; a file that was written in place or got another mode differs.
// W4. A directory of any size and depth costs bounded memory and one open folder. The agent's own files are looked at before
//     those of dependencies and caches, so a large cache hides nothing.

import type { BigIntStats } from 'node:fs';
import { lstat, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';

export type FileEntry = {
  readonly kind: 'file';
  readonly bytes: number;
  readonly mode: number;
  readonly stamp: string;
};

export type Entry =
  | FileEntry
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'folder'; readonly mode: number };

export interface WorkspaceState {
  /** By path below the directory, with `/`; a folder stands before what is in it. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** Passed over, by path. */
  readonly skipped: readonly string[];
  /** `whole`: a copy of the entries is a copy of the directory. `own`: all that may be an artifact is there. `part`: not even that. */
  readonly extent: 'whole' | 'own' | 'part';
}

/** Of all paths and link targets together: long names are as heavy as many. */
const mostNameUnits = 16 * 1024 * 1024;

export async function readState(root: string, { mostEntries = 100_000 } = {}): Promise<WorkspaceState> {
  const entries = new Map<string, Entry>();
  const skipped: string[] = [];
  const manyNamed = new Map<string, { readonly names: string[]; readonly nlink: bigint }>();
  const own = [''];
  const others: string[] = [];
  let extent: WorkspaceState['extent'] = 'whole';
  let nameUnits = 0;

  function passOver(path: string): void {
    skipped.push(path);
    if (extent === 'whole') extent = 'own';
  }

  async function lookInto(folder: string): Promise<void> {
    for await (const { name } of await opendir(join(root, folder))) {
      if (entries.size + skipped.length >= mostEntries || nameUnits >= mostNameUnits) {
        passOver(folder === '' ? '.' : folder);
        if (!isOfOthers(folder)) extent = 'part';
        return;
      }
      await note(folder === '' ? name : `${folder}/${name}`);
    }
  }

  async function note(path: string): Promise<void> {
    nameUnits += path.length;
    const stats = await lstat(join(root, path), { bigint: true }).catch(() => null);
    // It has gone, or its name is no text.
    if (stats === null) return path.includes('\uFFFD') ? passOver(path) : undefined;
    if (stats.isDirectory()) {
      entries.set(path, { kind: 'folder', mode: Number(stats.mode) });
      (isOfOthers(path) ? others : own).push(path);
    } else if (stats.isSymbolicLink()) {
      const target = await readlink(join(root, path)).catch(() => null);
      nameUnits += target?.length ?? 0;
      if (target !== null) entries.set(path, { kind: 'link', target });
    } else if (stats.isFile()) noteFile(path, stats);
    else skipped.push(path);
  }

  function noteFile(path: string, stats: BigIntStats): void {
    entries.set(path, entryOf(stats));
    if (stats.nlink === 1n) return;
    const key = `${stats.dev}:${stats.ino}`;
    const known = manyNamed.get(key);
    if (known === undefined) manyNamed.set(key, { names: [path], nlink: stats.nlink });
    else known.names.push(path);
  }

  for (let next = own.pop(); next !== undefined; next = own.pop() ?? others.pop()) {
    const folder = next;
    await lookInto(folder).catch(() => passOver(folder));
  }
  for (const { names, nlink } of manyNamed.values()) {
    if (BigInt(names.length) >= nlink) continue;
    for (const path of names) {
      entries.delete(path);
      passOver(path);
    }
  }
  return { entries, skipped, extent };
}

/** One file as it stands now; null: it is none that may be kept (W1, W2). */
export async function readEntry(path: string): Promise<FileEntry | null> {
  const stats = await lstat(path, { bigint: true }).catch(() => null);
  return stats?.isFile() === true && stats.nlink === 1n ? entryOf(stats) : null;
}

function entryOf(stats: BigIntStats): FileEntry {
  return { kind: 'file', bytes: Number(stats.size), mode: Number(stats.mode), stamp: stampOf(stats) };
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

function isOfOthers(folder: string): boolean {
  return folder.split('/').some((name) => uninteresting.has(name));
}

/** Whether a file of this path can be one. */
export function mayBeArtifact(path: string): boolean {
  const end = path.lastIndexOf('/');
  return end === -1 || !isOfOthers(path.slice(0, end));
}
