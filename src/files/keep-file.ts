import { constants } from 'node:fs';
import { createHash } from 'node:crypto';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { stampOf } from './workspace-state.ts';

export interface KeptFile {
  readonly sha256: string;
  readonly bytes: number;
}

const chunkBytes = 256 * 1024;

/**
 * Copies a file of a working directory to `<folder>/<sha256>`. What is copied is what was looked at: the file is opened without
 * following a link in its place, and one that is not that of `stamp`, before or after, is not kept. Null: it has changed.
 */
export async function keepFile(path: string, stamp: string, folder: string): Promise<KeptFile | null> {
  const source = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (source === null) return null;
  const temporary = join(folder, `.new-${createHash('sha256').update(path).digest('hex')}`);
  try {
    if (stampOf(await source.stat({ bigint: true })) !== stamp) return null;
    const kept = await copyHashed(source, temporary);
    if (stampOf(await source.stat({ bigint: true })) !== stamp) return null;
    await rename(temporary, join(folder, kept.sha256));
    return kept;
  } finally {
    await source.close();
    await rm(temporary, { force: true });
  }
}

async function copyHashed(source: FileHandle, to: string): Promise<KeptFile> {
  const target = await open(to, 'w', 0o600);
  try {
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(chunkBytes);
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await source.read(buffer, 0, chunkBytes, null);
      if (bytesRead === 0) break;
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      await target.writeFile(chunk);
      bytes += bytesRead;
    }
    await target.datasync();
    return { sha256: hash.digest('hex'), bytes };
  } finally {
    await target.close();
  }
}
