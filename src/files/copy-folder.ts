import { constants } from 'node:fs';
import { copyFile, mkdir, opendir, realpath, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { isInside } from './is-inside.ts';

/**
 * Copies a folder to a new one: own files, sharing blocks where the file system can, never the files themselves (UD-88).
 * A link is copied as a link if it leads to something in the folder, written anew so that it means the same in the copy;
 * other links, pipes, devices, and what `isSkipped` names are left out.
 * @param from  Absolute and free of links.
 */
export async function copyFolder(from: string, to: string, isSkipped: (path: string) => boolean): Promise<void> {
  await copyInto(from, to);

  async function copyInto(source: string, target: string): Promise<void> {
    await mkdir(target);
    for await (const entry of await opendir(source)) {
      const [path, copy] = [join(source, entry.name), join(target, entry.name)];
      if (isSkipped(path)) continue;
      if (entry.isDirectory()) await copyInto(path, copy);
      else if (entry.isFile()) await copyFile(path, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      else if (entry.isSymbolicLink()) await copyLink(path, copy);
    }
  }

  async function copyLink(path: string, copy: string): Promise<void> {
    const destination = await realpath(path).catch(() => null);
    if (destination === null || !isInside(from, destination)) return;
    // Free of links on both ends, so it never climbs above the copy, however the original was written.
    await symlink(relative(dirname(path), destination) || '.', copy);
  }
}
