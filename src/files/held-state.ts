// States of working directories on disk: what stood where, and under which hash its bytes are held.

import { createHash } from 'node:crypto';
import { eachOf } from './each-of.ts';
import { mkdir, open, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { z } from 'zod';
import { isInside } from './is-inside.ts';
import type { BlobSum } from './blob-store.ts';
import type { Entry, FileEntry } from './workspace-state.ts';

export type HeldFile = FileEntry & { readonly sha256: string | null };
export type HeldEntry = Exclude<Entry, FileEntry> | HeldFile;
export type HeldState = ReadonlyMap<string, HeldEntry>;

/** The hash of a file that has not changed since the state. */
export function hashIn(state: HeldState, path: string, stamp: string): string | null {
  const entry = state.get(path);
  return entry?.kind === 'file' && entry.stamp === stamp ? entry.sha256 : null;
}

export async function writeHeld(path: string, state: HeldState): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify([...state]), { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

/** Null: there is none that can be read. */
export async function readHeld(path: string): Promise<HeldState | null> {
  return parseHeld(await readFile(path, 'utf8').catch(() => null));
}

export function parseHeld(text: string | null): HeldState | null {
  try {
    return text === null ? null : new Map(entriesOf(text));
  } catch {
    return null;
  }
}

/** A state that was written a line at a time; what a crash cut off is none of it. */
export async function readLines(path: string): Promise<HeldState> {
  const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n').slice(0, -1);
  return new Map(entriesOf(`[${lines.join(',')}]`));
}

const entries = z.array(
  z.tuple([
    z.string(),
    z.discriminatedUnion('kind', [
      z.object({
        kind: z.literal('file'),
        bytes: z.number(),
        mode: z.number(),
        stamp: z.string(),
        sha256: z.string().nullable(),
      }),
      z.object({ kind: z.literal('link'), target: z.string() }),
      z.object({ kind: z.literal('folder'), mode: z.number() }),
    ]),
  ]),
);

function entriesOf(text: string): readonly (readonly [string, HeldEntry])[] {
  return entries.parse(JSON.parse(text));
}

/** Tells what is stored of one state from what is stored of another. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Makes an empty folder what it was. @param copy  Makes a file of the bytes that have a hash; false: they are gone. */
export async function fillFrom(
  root: string,
  state: HeldState,
  copy: (to: string, sum: BlobSum) => Promise<boolean>,
): Promise<void> {
  for (const [path, entry] of state)
    if (entry.kind === 'folder') await mkdir(join(root, path), { mode: ownersMode(entry.mode, 0o700) });
  await eachOf(state, async ([path, entry]) => {
    if (entry.kind !== 'file') return;
    const { bytes, sha256, mode } = entry;
    const to = join(root, path);
    if (sha256 === null || !(await copy(to, { bytes, sha256 }))) throw new Error('The bytes of a held state are gone.');
    await using file = await open(to, 'r+');
    await file.chmod(ownersMode(mode, 0o600));
  });
  for (const [path, entry] of state)
    if (entry.kind === 'link' && staysInside(path, entry.target)) await symlink(entry.target, join(root, path));
}

/** Never more than plain permissions, and what the agent needs to go on. */
function ownersMode(mode: number, least: number): number {
  return (mode & 0o777) | least;
}

/** By its text alone: the link stands in a directory that is still being made. */
function staysInside(path: string, target: string): boolean {
  if (target.startsWith('/')) return false;
  return isInside('/root', posix.join('/root', posix.dirname(path), target));
}
