// The folders that principals work in over many turns: one each, below one root.
//
// F1. A directory of such a folder is walked one name at a time from the folder's real path. A link is none of it: whoever
//     made it wants the next turn to work elsewhere.
// F2. Looking makes nothing; what is missing is made when a turn begins.
// F3. A principal's name never becomes a path: its folder is named by a hash of it.

import { createHash } from 'node:crypto';
import { lstat, mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { FolderError } from '../core/errors.ts';

export interface PrincipalFolders {
  /** @param cwd  Normalised. Null: it can be worked in; else why not. */
  faultOf(principal: string, cwd: string): Promise<string | null>;
  /** Its absolute path, made where it is missing. @throws FolderError  It cannot be worked in. */
  ensure(principal: string, cwd: string): Promise<string>;
}

/** @param root  Absolute path; made on first use. */
export function createPrincipalFolders(root: string): PrincipalFolders {
  const folderOf = (principal: string) => join(root, folderName(principal));
  return {
    async faultOf(principal, cwd) {
      let path = folderOf(principal);
      for (const name of namesOf(cwd)) {
        path = join(path, name);
        const kind = await kindOf(path);
        if (kind === 'missing') return null;
        if (kind !== 'folder') return faults[kind];
      }
      return null;
    },
    async ensure(principal, cwd) {
      const top = folderOf(principal);
      await mkdir(top, { recursive: true, mode: 0o700 });
      let path = await realpath(top);
      for (const name of namesOf(cwd)) {
        path = join(path, name);
        await mkdir(path).catch((cause: unknown) => {
          if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'))
            throw new FolderError('The working directory of this turn could not be made.', { cause });
        });
        const kind = await kindOf(path);
        if (kind !== 'folder') throw new FolderError('The working directory of this turn was replaced.');
      }
      return path;
    },
  };
}

const faults = {
  link: 'the path leaves the workspace',
  other: 'a part of the path is not a directory',
} as const;

async function kindOf(path: string): Promise<'missing' | 'folder' | keyof typeof faults> {
  try {
    const stats = await lstat(path);
    if (stats.isDirectory()) return 'folder';
    return stats.isSymbolicLink() ? 'link' : 'other';
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : '';
    // What cannot be a name of a file cannot be made, either.
    return code === 'ENOENT' ? 'missing' : 'other';
  }
}

function namesOf(cwd: string): readonly string[] {
  return cwd === '.' ? [] : cwd.split('/');
}

/** Told apart by the hash, told to people by the rest. */
function folderName(principal: string): string {
  const words = principal
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 32);
  return `${words}-${createHash('sha256').update(principal).digest('hex').slice(0, 24)}`;
}
