// Bytes of uploads. A file is there whole or not at all: it is written under another name, synced, and then put; what was cut off,
// or is too large, leaves nothing behind.

import { createHash } from 'node:crypto';
import { blobKey, type BlobStore, type BlobSum, type OpenBlob } from './blob-store.ts';
import { createFolderBlobs } from './folder-blobs.ts';
import { fileIds, type FileId } from '../core/ids.ts';
import { join } from 'node:path';
import { lstat, mkdir, open, readdir, rm } from 'node:fs/promises';
import { ReinsError } from '../core/errors.ts';
import { unfinishedPrefix } from './keep-file.ts';

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
  save(fileId: FileId, source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<BlobSum>;
  /** Null: it is gone. @param sum  What it must be. */
  open(fileId: FileId, sum: BlobSum): Promise<OpenBlob | null>;
  remove(fileId: FileId): Promise<void>;
  /** Removes what a crash has left: files that were cut off, and those that nobody knows, an hour after they were written. */
  sweep(nowMs: number, isKnown: (fileId: FileId) => Promise<boolean>): Promise<void>;
}

const anHourMs = 3_600_000;

export function createUploads(dataDir: string, blobs: BlobStore = createFolderBlobs(dataDir)): Uploads {
  const folder = join(dataDir, 'uploads');
  const keyOf = (fileId: FileId) => blobKey('uploads', fileId);
  return {
    async save(fileId, source, maxBytes) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, `${unfinishedPrefix}${fileId}`);
      try {
        const written = await write(path, source, maxBytes);
        await blobs.put(keyOf(fileId), { path, ...written });
        return written;
      } catch (cause) {
        await rm(path, { force: true });
        throw cause;
      }
    },
    open: (fileId, sum) => blobs.open(keyOf(fileId), sum),
    remove: (fileId) => blobs.remove(keyOf(fileId)),
    async sweep(nowMs, isKnown) {
      const isOld = (atMs: number) => atMs < nowMs - anHourMs;
      for (const name of await readdir(folder).catch(() => [])) {
        const stats = name.startsWith(unfinishedPrefix) ? await lstat(join(folder, name)).catch(() => null) : null;
        if (stats !== null && isOld(stats.mtimeMs)) await rm(join(folder, name), { force: true });
      }
      for await (const { key, writtenAtMs } of blobs.list('uploads')) {
        const fileId = fileIds.parse(key.slice('uploads/'.length));
        if (fileId !== undefined && isOld(writtenAtMs) && !(await isKnown(fileId))) await blobs.remove(key);
      }
    },
  };
}

async function write(path: string, source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<BlobSum> {
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
