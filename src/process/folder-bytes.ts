import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** Of a file or folder without content: what it takes of the disk's table of files is bounded, too. */
const leastBytes = 4_096;

/**
 * What is below a folder takes on the disk; counting ends as soon as `goesOn` says no to what it has come to. What goes
 * meanwhile, or cannot be read, is nothing.
 */
export async function folderBytes(folder: string, goesOn: (bytes: number) => boolean): Promise<number> {
  let bytes = 0;
  const left = [folder];
  for (let next = left.pop(); next !== undefined && goesOn(bytes); next = left.pop()) {
    try {
      for await (const entry of await opendir(next)) {
        const path = join(next, entry.name);
        // A link is its own few bytes: what it points to is another's.
        if (entry.isDirectory()) left.push(path);
        bytes += await bytesOf(path);
        if (!goesOn(bytes)) break;
      }
    } catch {
      // Gone, or not to be read.
    }
  }
  return bytes;
}

/** A sparse file takes less than it is long. */
async function bytesOf(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null);
  return found === null ? 0 : Math.max(leastBytes, found.blocks * 512);
}
