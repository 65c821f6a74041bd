import { constants } from 'node:fs';
import { createHash } from 'node:crypto';
import { open, readdir, readlink, realpath, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { stampOf, type FileEntry } from './workspace-state.ts';
import type { StagedFile } from './blob-store.ts';

const chunkBytes = 256 * 1024;
export const unfinishedPrefix = '.new-';

/** Removes what was cut off; nobody may be at it. */
export async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith(unfinishedPrefix)) await rm(join(folder, name), { force: true });
}

export interface Keeping {
  /** Where it is copied to first. */
  readonly folder: string;
  /** Takes the copy over. */
  readonly put: (copy: StagedFile) => Promise<void>;
}

/**
 * Keeps a copy of a file of a working directory; its hash. What is copied is what was looked at: the file is
 * opened through no link, neither in its place nor in that of a folder above it, and one that is not that of `entry`, before
 * or after, is not kept. Null: it has changed.
 * @param path  Absolute and free of links.
 */
export async function keepFile(path: string, entry: FileEntry, { folder, put }: Keeping): Promise<string | null> {
  const source = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (source === null) return null;
  const temporary = join(folder, `${unfinishedPrefix}${createHash('sha256').update(path).digest('hex')}`);
  const isSame = async () => stampOf(await source.stat({ bigint: true })) === entry.stamp;
  try {
    if ((await placeOf(source, path)) !== path || !(await isSame())) return null;
    const sha256 = await copyHashed(source, temporary, entry.bytes);
    if (!(await isSame())) return null;
    await put({ path: temporary, bytes: entry.bytes, sha256 });
    return sha256;
  } finally {
    await source.close();
    await rm(temporary, { force: true });
  }
}

/** Where an open file really is: the kernel says it of the very file, where it does. */
function placeOf({ fd }: FileHandle, path: string): Promise<string | null> {
  return readlink(`/proc/self/fd/${fd}`).catch(() => realpath(path).catch(() => null));
}

/** @param bytes  No more is read: somebody may write to it faster than it is copied. */
async function copyHashed(source: FileHandle, to: string, bytes: number): Promise<string> {
  const target = await open(to, 'w', 0o600);
  try {
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, bytes));
    for (let left = bytes; left > 0;) {
      const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, left), null);
      if (bytesRead === 0) break;
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      await target.writeFile(chunk);
      left -= bytesRead;
    }
    await target.datasync();
    return hash.digest('hex');
  } finally {
    await target.close();
  }
}
