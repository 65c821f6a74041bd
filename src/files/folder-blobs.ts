import { constants } from 'node:fs';
import { copyFile, mkdir, open, readdir, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import {
  parseBlobKey,
  type BlobArea,
  type BlobInfo,
  type BlobKey,
  type BlobStore,
  type OpenBlob,
} from './blob-store.ts';
import { unfinishedPrefix } from './keep-file.ts';

/** Blobs as files of the data folder, each at its key. */
export function createFolderBlobs(dataDir: string): BlobStore {
  const at = (key: BlobKey | BlobArea) => join(dataDir, key);
  return {
    place: 'data-folder',
    maxBytes: Infinity,
    async put(key, content) {
      const path = at(key);
      const folder = dirname(path);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const isInMemory = content instanceof Uint8Array;
      const staged = isInMemory ? `${path}.new` : content.path;
      if (isInMemory) await writeFile(staged, content, { mode: 0o600, flush: true });
      await rename(staged, path);
      await syncFolder(folder);
    },
    open: (key) => ifThere(async () => blobOfHandle(await open(at(key), constants.O_RDONLY | constants.O_NOFOLLOW))),
    async copyTo(path, key) {
      const how = constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE;
      const copied = await ifThere(async () => {
        await copyFile(at(key), path, how);
        return true;
      });
      return copied !== null;
    },
    remove: (key) => rm(at(key), { force: true }),
    async *list(folder) {
      for (const name of (await ifThere(() => readdir(at(folder), { recursive: true }))) ?? []) {
        const info = await infoOf(`${folder}/${name.replaceAll(sep, '/')}`);
        if (info !== null) yield info;
      }
    },
    async *names(area) {
      for (const name of (await ifThere(() => readdir(at(area)))) ?? [])
        if (!name.startsWith(unfinishedPrefix)) yield name;
    },
  };

  /** Null: a folder, what is still being written, or gone meanwhile. */
  async function infoOf(path: string): Promise<BlobInfo | null> {
    const key = parseBlobKey(path);
    const stats = key === undefined ? null : await ifThere(() => stat(join(dataDir, path)));
    if (key === undefined || stats?.isFile() !== true) return null;
    return { key, bytes: stats.size, writtenAtMs: stats.mtimeMs };
  }
}

/** An open file stays readable when its name is gone. */
export async function blobOfHandle(handle: FileHandle): Promise<OpenBlob> {
  const { size } = await handle.stat();
  return {
    bytes: size,
    stream: (range = { start: 0, end: Infinity }) => handle.createReadStream({ ...range, autoClose: true }),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function ifThere<T>(look: () => Promise<T>): Promise<T | null> {
  try {
    return await look();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : '';
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return null;
    throw cause;
  }
}

/** So that the name outlives a power cut, as the record of it will. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
