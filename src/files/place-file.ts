// Files that are put into a working directory from outside: under a plain name of its own, whole or not at all, over nothing
// that is there and through no link (UD-44).

import { constants } from 'node:fs';
import { createHash } from 'node:crypto';
import { link, lstat, open, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { namesLike, safeName, splitName } from './safe-name.ts';
import type { Readable } from 'node:stream';

export interface FileNames {
  /** A name that is free, or that of a file with these very bytes: who says a thing again finds it where it was. */
  take(name: string, content: { readonly sha256: string; readonly bytes: number }): Promise<string>;
}

/** @param name  As a client gave it. */
export async function openFileNames(workspace: string): Promise<FileNames> {
  const there = new Map((await readdir(workspace)).map((name) => [folded(name), name]));
  const given = new Map<string, string>();
  return {
    async take(name, { sha256, bytes }) {
      for (const next of namesLike(safeName(name))) {
        const key = folded(next);
        const other = given.get(key);
        const old = there.get(key);
        const isOurs =
          other === undefined
            ? old === undefined || (await holds(join(workspace, old), sha256, bytes))
            : other === sha256;
        if (!isOurs) continue;
        given.set(key, sha256);
        return other === undefined && old !== undefined ? old : next;
      }
      throw new Error('There is always another name.');
    },
  };
}

/** Where the directory cannot be looked at: no other content has such a name. */
export const namesByContent: FileNames = {
  async take(name, { sha256 }) {
    const [stem, ending] = splitName(safeName(name));
    return safeName(`${stem} (${sha256.slice(0, 12)})${ending}`);
  },
};

/** What some file systems take for one name. */
function folded(name: string): string {
  return name.normalize('NFC').toLowerCase();
}

async function holds(path: string, sha256: string, bytes: number): Promise<boolean> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (file === null) return false;
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size !== bytes) return false;
    const hash = createHash('sha256');
    for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk);
    return hash.digest('hex') === sha256;
  } finally {
    await file.close();
  }
}

/**
 * Puts a file there; false: there is something of that name already, which stays.
 * @param name  A plain one. @param content  Asked for where it is needed.
 */
export async function placeFile(
  workspace: string,
  name: string,
  content: () => Promise<Uint8Array | Readable>,
): Promise<boolean> {
  if (name !== safeName(name)) throw new Error('This is no plain name.');
  const temporary = join(workspace, `.new-${createHash('sha256').update(name).digest('hex').slice(0, 32)}`);
  const path = join(workspace, name);
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (isThere) return false;
  // What a crash has left of it.
  await rm(temporary, { force: true, recursive: true });
  try {
    await writeFile(temporary, await content(), { flag: 'wx', mode: 0o644 });
    // Unlike a renaming it takes nothing away that is there.
    await link(temporary, path);
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false;
    throw cause;
  } finally {
    await rm(temporary, { force: true });
  }
}
