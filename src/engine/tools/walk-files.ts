import { below, listFolder, type Folder } from './workspace-path.ts';

/** A regular file that was found; its folder is open until the walk goes on. */
export interface FoundFile {
  readonly folder: Folder;
  readonly name: string;
  /** Below the workspace, POSIX. */
  readonly path: string;
}

export interface FileWalk {
  files(): AsyncGenerator<FoundFile>;
  /** Something was left out because a bound was reached. */
  readonly isCut: boolean;
}

/** Made by tools, large, and seldom what is looked for. */
const skippedFolders: ReadonlySet<string> = new Set(['.git', 'node_modules']);
const maxEntries = 100_000;
const maxEntriesOfFolder = 10_000;
/** Also the bound of open folders. */
const maxDepth = 64;

/** All regular files below a folder in order of their names, following no link; `.git` and `node_modules` are left out. */
export function walkFiles(start: Folder, signal: AbortSignal): FileWalk {
  let entriesLeft = maxEntries;
  let isCut = false;
  async function* filesBelow(folder: Folder, depth: number): AsyncGenerator<FoundFile> {
    // A folder that may not be read, or is gone by now, has nothing to find.
    const listed = await listFolder(folder, maxEntriesOfFolder).catch(() => ({ entries: [], isCut: false }));
    isCut ||= listed.isCut;
    for (const { name, kind } of listed.entries) {
      signal.throwIfAborted();
      isCut ||= entriesLeft-- <= 0;
      if (entriesLeft < 0) break;
      if (kind === 'file') yield { folder, name, path: below(folder, name) };
      if (kind !== 'folder' || skippedFolders.has(name)) continue;
      isCut ||= depth === maxDepth;
      if (depth === maxDepth) continue;
      await using child = await folder.enter(name).catch(() => null);
      if (child !== null) yield* filesBelow(child, depth + 1);
    }
  }
  return {
    files: () => filesBelow(start, 1),
    get isCut() {
      return isCut;
    },
  };
}
