// A data folder as one file, made while servers work on it, and put back (`reins export`, `reins import`).
//
// A1. The database first, as it is at one instant; then the files. What it names is there, as files of sessions and uploads are
//     never changed in place; what it does not name yet is of no harm. Those of a bucket come along.
// A2. An archive appears whole or not at all, and is for its owner's eyes only: it holds keys' hashes and conversations.
// A3. It is put back into a folder that is new or empty, whole or not at all. No name in it leads out of that folder.
// A4. Where the conversations are in a database elsewhere, a folder is half of what there is: it is neither written nor put back.

import { backup, DatabaseSync } from 'node:sqlite';
import { chmod, lstat, mkdir, mkdtemp, opendir, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { openPromise, type Entry, type ZipFile as OpenedZip } from 'yauzl';
import { pipeline } from 'node:stream/promises';
import { bucketOf } from './open-blobs.ts';
import { ConfigurationError } from './core/errors.ts';
import { Readable } from 'node:stream';
import { systemClock } from './system.ts';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { ZipFile } from 'yazl';
import type { BlobStore } from './files/blob-store.ts';
import type { Config } from './config.ts';

const database = 'reins.db';
/** What belongs to one machine or one process, such as the key that its command line uses, and the database, which is copied by itself. */
const leftOut = /^(?:reins\.db.*|key|database|servers|server\.(?:pid|url|lock.*))$/;
const linkMode = 0o120000;
const typeMask = 0o170000;

export interface Archived {
  readonly files: number;
}

type Place = Pick<Config, 'server' | 'store' | 'files' | 'limits'>;

/** @throws ConfigurationError  There is no database in the folder (A4), or the file is there already. */
export async function exportData(place: Place, to: string): Promise<Archived> {
  const { dataDir } = place.server;
  refuseDatabase(place.store, 'pg_dump');
  const source = join(dataDir, database);
  if (!existsSync(source)) throw new ConfigurationError(`There is no database in the data folder ${dataDir}.`);
  if (existsSync(to)) throw new ConfigurationError(`${to} is there already; choose another name.`);
  if (!existsSync(dirname(resolve(to)))) throw new ConfigurationError(`There is no folder ${dirname(resolve(to))}.`);
  const { url } = place.files;
  await using blobs = url === null ? null : await bucketOf(url, place, systemClock);
  const temporary = await mkdtemp(join(tmpdir(), 'reins-export-'));
  try {
    const copy = join(temporary, database);
    using db = new DatabaseSync(source, { readOnly: true });
    await backup(db, copy);
    const zip = new ZipFile();
    const unread = new AbortController();
    zip.on('error', (cause: unknown) => unread.abort(cause));
    const part = createWriteStream(`${to}.part`, { mode: 0o600, flags: 'wx' });
    const written = pipeline(zip.outputStream, part, { signal: unread.signal }).catch((fault: unknown) => {
      const cause: unknown = unread.signal.aborted ? unread.signal.reason : fault;
      const why = cause instanceof Error ? cause.message.replace(/\.$/, '') : 'why is not known';
      throw new ConfigurationError(`${to} cannot be written: ${why}.`, { cause });
    });
    written.catch(() => {}); // heard of below, where the files have been found
    addFile(zip, copy, { name: database, mode: 0o100600 });
    let files = 1;
    for await (const { path, mode, target } of filesOf(dataDir)) {
      if (target !== null) zip.addBuffer(Buffer.from(target), path, { mode: linkMode | 0o777 });
      else addFile(zip, join(dataDir, path), { name: path, mode });
      files += 1;
    }
    if (blobs !== null) files += await addBlobs(zip, blobs);
    zip.end();
    await written;
    await rename(`${to}.part`, to);
    return { files };
  } finally {
    await rm(temporary, { recursive: true, force: true });
    await rm(`${to}.part`, { force: true });
  }
}

/** A file that goes away meanwhile is an empty one: a running task may remove what it likes. */
function addFile(zip: ZipFile, path: string, { name, mode }: { readonly name: string; readonly mode: number }): void {
  zip.addReadStreamLazy(name, { mode }, (give) => {
    open(path).then(
      (file) => give(null, file.createReadStream({ autoClose: true })),
      () => give(null, createReadStream('/dev/null')),
    );
  });
}

/** Where a folder would have them: what is put back serves them from there. */
async function addBlobs(zip: ZipFile, blobs: BlobStore): Promise<number> {
  let files = 0;
  for (const area of ['uploads', 'files'] as const)
    for await (const { key } of blobs.list(area)) {
      zip.addReadStreamLazy(key, { mode: 0o100600 }, (give) => {
        blobs.open(key).then(
          (blob) => give(null, blob?.stream() ?? Readable.from([])),
          (cause: unknown) => zip.emit('error', cause),
        );
      });
      files += 1;
    }
  return files;
}

interface Found {
  /** Below the data folder, with `/`. */
  readonly path: string;
  readonly mode: number;
  /** Of a link. */
  readonly target: string | null;
}

async function* filesOf(root: string, folder = ''): AsyncGenerator<Found> {
  for await (const { name } of await opendir(join(root, folder))) {
    if (folder === '' && leftOut.test(name)) continue;
    const path = posix.join(folder, name);
    const stats = await lstat(join(root, path)).catch(() => null);
    if (stats?.isDirectory() === true) yield* filesOf(root, path);
    else if (stats?.isSymbolicLink() === true)
      yield { path, mode: stats.mode, target: await readlink(join(root, path)) };
    else if (stats?.isFile() === true) yield { path, mode: stats.mode, target: null };
  }
}

/** @throws ConfigurationError  The folder holds something, the file is no such archive, or nobody would read it there (A4). */
export async function importData(from: string, { server: { dataDir }, store, files: kept }: Place): Promise<Archived> {
  refuseDatabase(store, 'pg_restore');
  if (kept.url !== null)
    throw new ConfigurationError(
      'It is put back into a folder, and REINS_FILES_URL is a bucket: leave that away, and copy uploads and files into the bucket afterwards.',
    );
  const there = await readdir(dataDir).catch(() => []);
  if (there.length > 0)
    throw new ConfigurationError(`The data folder ${dataDir} is not empty; name a new one with --data.`);
  if (!existsSync(from)) throw new ConfigurationError(`There is no file ${from}.`);
  const zip = await openPromise(from, { autoClose: false }).catch((cause: unknown) => {
    throw new ConfigurationError(`${from} is no archive that can be read.`, { cause });
  });
  const temporary = `${resolve(dataDir)}.import`;
  await rm(temporary, { recursive: true, force: true });
  try {
    let files = 0;
    await mkdir(temporary, { recursive: true, mode: 0o700 });
    const links: { readonly path: string; readonly target: string }[] = [];
    for await (const entry of zip.eachEntry()) {
      const target = await putBack(zip, entry, temporary);
      if (target !== null) links.push(target);
      files += 1;
    }
    // When all files are there: none is written through one of them.
    for (const { path, target } of links) await symlink(target, path);
    if (!existsSync(join(temporary, database))) throw new ConfigurationError(`${from} holds no database of Reins.`);
    await rm(dataDir, { recursive: true, force: true });
    await rename(temporary, dataDir);
    return { files };
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new ConfigurationError(`${from} is damaged, or no archive of Reins; nothing was put back.`, { cause });
  } finally {
    zip.close();
    await rm(temporary, { recursive: true, force: true });
  }
}

function refuseDatabase({ databaseUrl }: Place['store'], instead: 'pg_dump' | 'pg_restore'): void {
  if (databaseUrl === null) return;
  throw new ConfigurationError(
    `Conversations are in the PostgreSQL of REINS_DATABASE_URL, not in the data folder: use ${instead} for them, and copy the folder beside it; single tasks and sessions can still be exported and imported.`,
  );
}

/** Gives a link, to be made at the end; null: a file was written. */
async function putBack(
  zip: OpenedZip,
  entry: Entry,
  root: string,
): Promise<{ readonly path: string; readonly target: string } | null> {
  const path = join(root, entry.fileName);
  if (!path.startsWith(`${root}/`)) throw new ConfigurationError('The archive holds a name that leads out of it.');
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const mode = entry.externalFileAttributes >>> 16;
  const content = await zip.openReadStreamPromise(entry);
  if ((mode & typeMask) === linkMode) return { path, target: await text(content) };
  await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
  await chmod(path, mode & 0o777);
  return null;
}
