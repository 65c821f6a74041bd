// Bytes of uploads on the disk. A file is there whole or not at all: it is written under another name, synced and renamed; what
// was cut off, or is too large, leaves nothing behind.

import { createHash } from 'node:crypto';
import { lstat, mkdir, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { fileIds, type FileId } from '../core/ids.ts';
import { join } from 'node:path';
import { ReinsError } from '../core/errors.ts';

/** There are more bytes than there may be. */
export class TooLargeError extends ReinsError {
  readonly maxBytes: number;
  constructor(maxBytes: number) {
    super(`A file is over the limit of ${maxBytes} bytes.`);
    this.maxBytes = maxBytes;
  }
}

export interface Uploads {
  /**
   * Writes the bytes as they come, at the pace of the disk.
   * @throws TooLargeError  Nothing is kept. Rejects as the source does: nothing is kept either.
   */
  save(
    fileId: FileId,
    source: AsyncIterable<Uint8Array>,
    maxBytes: number,
  ): Promise<{ readonly bytes: number; readonly sha256: string }>;
  /** To be closed. Null: it is gone. */
  open(fileId: FileId): Promise<FileHandle | null>;
  remove(fileId: FileId): Promise<void>;
  /** Removes what a crash has left: files that were cut off, and those that nobody knows, an hour after they were written. */
  sweep(nowMs: number, isKnown: (fileId: FileId) => Promise<boolean>): Promise<void>;
}

const anHourMs = 3_600_000;

export function createUploads(dataDir: string): Uploads {
  const folder = join(dataDir, 'uploads');
  const at = (name: string) => join(folder, name);
  return {
    async save(fileId, source, maxBytes) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const temporary = at(`.new-${fileId}`);
      try {
        const written = await write(temporary, source, maxBytes);
        await rename(temporary, at(fileId));
        await syncFolder(folder);
        return written;
      } catch (cause) {
        await rm(temporary, { force: true });
        throw cause;
      }
    },
    open: (fileId) => open(at(fileId), 'r').catch(() => null),
    remove: (fileId) => rm(at(fileId), { force: true }),
    async sweep(nowMs, isKnown) {
      for (const name of await readdir(folder).catch(() => [])) {
        const fileId = fileIds.parse(name);
        if (fileId !== undefined && (await isKnown(fileId))) continue;
        const stats = await lstat(at(name)).catch(() => null);
        if (stats !== null && stats.mtimeMs < nowMs - anHourMs) await rm(at(name), { force: true, recursive: true });
      }
    },
  };
}

/** So that the name outlives a power cut, as the record of it will. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

async function write(
  path: string,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const file = await open(path, 'wx', 0o600);
  try {
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new TooLargeError(maxBytes);
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.datasync();
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    await file.close();
  }
}
