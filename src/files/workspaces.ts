// Working directories of sessions (UD-86, UD-88).
//
// S1. A workspace appears whole or not at all: it is filled under another name and renamed. That name is fixed for a session,
//     so what a crash left is cleared by the next try; the lease of the session keeps two processes from one.
// S2. Nothing in a workspace is shared for writing with the template.
// S3. An id that is not a plain name never becomes a path (B121).

import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, realpath, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ConfigurationError, NotFoundError, FolderError } from '../core/errors.ts';
import { sessionIds, type SessionId } from '../core/ids.ts';
import { unfinishedPrefix } from './keep-file.ts';
import { copyFolder } from './copy-folder.ts';
import { isInside } from './is-inside.ts';

/** Somebody else has made it. */
export class FolderTakenError extends FolderError {}

export interface Workspaces {
  /**
   * Absolute path of the session's working directory, made on first use.
   * @param own  Folder that it is a copy of then, in place of that for all.
   */
  ensure(sessionId: SessionId, own?: string): Promise<string>;
  /** Makes that of a new session by filling an empty folder. @throws FolderError  It could not be made. FolderTakenError  It is there already. */
  fill(sessionId: SessionId, fill: (path: string) => Promise<void>): Promise<void>;
  /** Removes what was begun before that and never finished: a crash left it. */
  removeUnfinished(beforeMs: number): Promise<void>;
  /** Sessions that have one. */
  list(): Promise<readonly SessionId[]>;
  /** Removes it with all it holds; nothing happens when there is none. */
  remove(sessionId: SessionId): Promise<void>;
}

export interface WorkspacesOptions {
  readonly dataDir: string;
  /** Folder that new workspaces are a copy of, without `.git`, `node_modules` and the data folder. Absent: they are empty. */
  readonly template?: string;
}

/** @throws ConfigurationError  The template is no folder, or holds what is the server's own. */
export function createWorkspaces(options: WorkspacesOptions): Workspaces {
  const template = options.template === undefined ? null : openFolder(options.template, 'template of workspaces');
  mkdirSync(join(options.dataDir, 'workspaces'), { recursive: true, mode: 0o700 });
  const dataDir = realpathSync(options.dataDir);
  const folder = join(dataDir, 'workspaces');
  if (template !== null && (template === dataDir || isInside(folder, template))) {
    throw new ConfigurationError('The template of workspaces must not be the data folder or one of its workspaces.');
  }
  const isSkipped = (path: string) => path === dataDir || skippedNames.has(basename(path));
  const making = new Map<SessionId, Promise<boolean>>();

  const copy = (from: string | null) => async (path: string) =>
    from === null ? mkdir(path) : copyFolder(await realpath(from), path, isSkipped);

  /** False: it is there, or another process was quicker; that is left as it is. */
  async function make(sessionId: SessionId, fill: (path: string) => Promise<unknown>): Promise<boolean> {
    const path = join(folder, sessionId);
    if (await isFolder(path)) return false;
    try {
      // Of this process alone: others may make the same one.
      const temporary = await mkdtemp(join(folder, `${unfinishedPrefix}${sessionId}-`));
      try {
        await fill(join(temporary, 'new'));
        return await rename(join(temporary, 'new'), path).then(
          () => true,
          (cause: unknown) => {
            if (isTaken(cause)) return false;
            throw cause;
          },
        );
      } finally {
        await rm(temporary, { recursive: true, force: true });
      }
    } catch (cause) {
      throw new FolderError('The working directory of this session could not be made.', { cause });
    }
  }

  return {
    async ensure(sessionId, own) {
      requirePlainName(sessionId);
      const made =
        making.get(sessionId) ?? make(sessionId, copy(own ?? template)).finally(() => making.delete(sessionId));
      making.set(sessionId, made);
      await made;
      return join(folder, sessionId);
    },
    async fill(sessionId, fill) {
      requirePlainName(sessionId);
      const isMade = await make(sessionId, async (path) => {
        await mkdir(path);
        await fill(path);
      });
      if (!isMade) throw new FolderTakenError('This session has a working directory.');
    },
    async removeUnfinished(beforeMs) {
      for (const name of await readdir(folder)) {
        if (!name.startsWith(unfinishedPrefix)) continue;
        const stats = await lstat(join(folder, name)).catch(() => null);
        if (stats !== null && stats.mtimeMs < beforeMs) await rm(join(folder, name), { recursive: true, force: true });
      }
    },
    async list() {
      return (await readdir(folder)).flatMap((name) => sessionIds.parse(name) ?? []);
    },
    async remove(sessionId) {
      requirePlainName(sessionId);
      await making.get(sessionId)?.catch(() => {}); // its caller hears of the failure
      await rm(join(folder, sessionId), { recursive: true, force: true });
    },
  };
}

/** The caller's own folder for every session, as `reins run` works (UD-88). Removes nothing. */
export function fixedWorkspace(path: string): Workspaces {
  const folder = openFolder(path, 'working directory');
  return {
    ensure: async () => folder,
    fill: async () => {},
    removeUnfinished: async () => {},
    list: async () => [],
    remove: async () => {},
  };
}

function openFolder(path: string, role: string): string {
  const folder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? realpathSync(path) : null;
  if (folder === null) throw new ConfigurationError(`The ${role} '${path}' is not a folder.`);
  return folder;
}

const skippedNames: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/** A link in its place is refused: whoever made it wants the task to work elsewhere. */
async function isFolder(path: string): Promise<boolean> {
  const stats = await lstat(path).catch(() => null);
  if (stats === null) return false;
  if (stats.isDirectory()) return true;
  throw new FolderError('The working directory of this session was replaced.');
}

/** What another process has put there is no empty folder. */
function isTaken(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && (cause.code === 'ENOTEMPTY' || cause.code === 'EEXIST');
}

function requirePlainName(sessionId: SessionId): void {
  if (!/^[\w-]{1,128}$/.test(sessionId)) throw new NotFoundError('session');
}
