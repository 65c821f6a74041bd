import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** What the files below a folder take on the disk; counting ends above `enough`. What goes meanwhile, or cannot be read, is nothing. */
export async function folderBytes(folder: string, enough: number): Promise<number> {
  let bytes = 0;
  const left = [folder];
  for (let next = left.pop(); next !== undefined && bytes <= enough; next = left.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true }).catch(() => [])) {
      const path = join(next, entry.name);
      // A link is its own few bytes: what it points to is another's.
      if (entry.isDirectory()) left.push(path);
      else bytes += await bytesOf(path);
      if (bytes > enough) break;
    }
  }
  return bytes;
}

/** A sparse file takes less than it is long. */
async function bytesOf(path: string): Promise<number> {
  const found = await lstat(path).catch(() => null);
  return found === null ? 0 : found.blocks * 512;
}
