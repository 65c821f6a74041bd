import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { mkdir, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { StorageError } from './core/errors.ts';
import type { BundleFile, Store } from './stores/store.ts';
import type { HarnessId } from './core/ids.ts';
import type { Random } from './core/random.ts';

export interface BundlePlace {
  readonly store: Store;
  readonly dataDir: string;
  readonly random: Random;
}

/**
 * The folder of a bundle, made on first use: absolute, without links. It appears whole or not at all, and is never changed.
 * @throws StorageError  The bundle is gone. Also what the file system throws.
 */
export async function placeBundle(
  { store, dataDir, random }: BundlePlace,
  harnessId: HarnessId,
  ref: string,
): Promise<string> {
  const folder = join(dataDir, 'bundles', createHash('sha256').update(ref).digest('hex').slice(0, 40));
  const placed = await realpath(folder).catch(() => null);
  if (placed !== null) return placed;
  const harness = await store.harness(harnessId);
  const bundle = harness === null ? null : await store.bundle(harness.principal, ref);
  if (bundle === null) throw new StorageError('The files of a skill or plugin are gone.');
  const temporary = `${folder}.new-${random.token()}`;
  try {
    for (const file of bundle.files) await placeFile(temporary, file);
    await rename(temporary, folder);
  } catch (cause) {
    await rm(temporary, { recursive: true, force: true });
    // Another run may have been quicker.
    return realpath(folder).catch(() => Promise.reject(cause));
  }
  return realpath(folder);
}

async function placeFile(folder: string, file: BundleFile): Promise<void> {
  const path = join(folder, file.path);
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const bytes = 'content' in file ? file.content : Buffer.from(file.content_b64, 'base64');
  // A program of the package can be started; nothing in it can be written.
  await writeFile(path, bytes, { mode: 0o555 });
}
