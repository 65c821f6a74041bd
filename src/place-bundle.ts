// Folders of bundles: the files of skills and plugins, as agents see them.
//
// F1. A folder appears whole or not at all, also over a power cut: what is in it is synced before it gets its name. It is
//     never changed, and goes as it came: in one step.
// F2. A folder lives as long as its bundle does, and with that the runs that were admitted with it (UD-35). What was never
//     finished goes after an hour.

import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { lstat, mkdir, open, readdir, realpath, rename, rm } from 'node:fs/promises';
import { DamageError } from './core/errors.ts';
import type { Store } from './stores/store.ts';
import type { BundleFile } from './stores/harness-record.ts';
import type { HarnessId } from './core/ids.ts';
import type { Random } from './core/random.ts';

export interface BundlePlace {
  readonly store: Store;
  readonly dataDir: string;
  readonly random: Random;
}

const anHourMs = 3_600_000;
const foldersOf = (dataDir: string) => join(dataDir, 'bundles');
const nameOf = (ref: string) => createHash('sha256').update(ref).digest('hex').slice(0, 40);

/**
 * The folder of a bundle, made on first use: absolute, without links.
 * @throws DamageError  The bundle is gone. Also what the file system throws.
 */
export async function placeBundle(
  { store, dataDir, random }: BundlePlace,
  harnessId: HarnessId,
  ref: string,
): Promise<string> {
  const folder = join(foldersOf(dataDir), nameOf(ref));
  const placed = await realpath(folder).catch(() => null);
  if (placed !== null) return placed;
  const harness = await store.harness(harnessId);
  const bundle = harness === null ? null : await store.bundle(harness.principal, ref);
  if (bundle === null) throw new DamageError('The files of a skill or plugin are gone.');
  const temporary = `${folder}.new-${random.token()}`;
  try {
    const made = new Set([temporary]);
    for (const file of bundle.files) for (const path of await placeFile(temporary, file)) made.add(path);
    for (const path of made) await syncFolder(path);
    await rename(temporary, folder);
    await syncFolder(foldersOf(dataDir));
  } catch (cause) {
    await rm(temporary, { recursive: true, force: true });
    // Another run may have been quicker.
    return realpath(folder).catch(() => Promise.reject(cause));
  }
  return realpath(folder);
}

/** Removes what belongs to no bundle any more. */
export async function sweepBundles({ store, dataDir, random }: BundlePlace, nowMs: number): Promise<void> {
  const names = await readdir(foldersOf(dataDir)).catch(() => []);
  // Only now: a folder has its bundle before it is there.
  const known = new Set((await store.bundleRefs()).map(nameOf));
  for (const name of names) {
    const path = join(foldersOf(dataDir), name);
    const isUnfinished = name.includes('.new-');
    if (isUnfinished ? !(await isOlder(path, nowMs - anHourMs)) : known.has(name)) continue;
    const leaving = isUnfinished ? path : `${path}.new-${random.token()}`;
    if (!isUnfinished) await rename(path, leaving);
    await rm(leaving, { recursive: true, force: true });
  }
}

/** Whether nothing was put into it since. */
async function isOlder(folder: string, atMs: number): Promise<boolean> {
  const stats = await lstat(folder).catch(() => null);
  return stats !== null && stats.mtimeMs < atMs;
}

/** The folders on the way to it. */
async function placeFile(folder: string, file: BundleFile): Promise<readonly string[]> {
  const path = join(folder, file.path);
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const bytes = 'content' in file ? file.content : Buffer.from(file.content_b64, 'base64');
  // A program of the package can be started; nothing in it can be written.
  const handle = await open(path, 'wx', 0o555);
  try {
    await handle.writeFile(bytes);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  const way = file.path.split('/').slice(0, -1);
  return way.map((_, index) => join(folder, ...way.slice(0, index + 1)));
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}
