// Bytes of uploads on the disk. A file is there whole or not at all: it is written under another name, synced and renamed; what
// was cut off, or is too large, leaves nothing behind.

import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
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
  list(): Promise<readonly FileId[]>;
}

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
        return written;
      } catch (cause) {
        await rm(temporary, { force: true });
        throw cause;
      }
    },
    open: (fileId) => open(at(fileId), 'r').catch(() => null),
    remove: (fileId) => rm(at(fileId), { force: true }),
    async list() {
      return (await readdir(folder).catch(() => [])).flatMap((name) => fileIds.parse(name) ?? []);
    },
  };
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
