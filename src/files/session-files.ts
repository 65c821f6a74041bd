// The files of sessions beside their working directories: what their runs made, kept for good, and how the directory stood
// after each of the newest runs, kept for forks (UD-28, UD-53).
//
// F1. `<session>/kept/<sha256>` are artifacts; they go with their session alone. `<session>/held/<sha256>` is what the states of
//     the newest runs name besides; it goes when none of them names it any more.
// F2. Only what changed since the state before is read again.
// F3. A run's changes are those since it began, also where a crash came between: how the directory stood then is on disk
//     before its harness is asked for anything.
// F4. The bounds are on what is kept. What is over them is left out and counted, and the run is none the worse for it; where
//     a whole state would be over them, none is kept.

import { constants } from 'node:fs';
import {
  appendFile,
  copyFile,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { isInside } from './is-inside.ts';
import { keepFile } from './keep-file.ts';
import { mayBeArtifact, readState, stampOf, type Entry, type WorkspaceState } from './workspace-state.ts';
import type { FileHandle } from 'node:fs/promises';
import { sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { Workspaces } from './workspaces.ts';

export interface RunPlace {
  readonly sessionId: SessionId;
  readonly runId: RunId;
}

export type FileChange =
  | { readonly kind: 'create' | 'modify'; readonly path: string; readonly bytes: number; readonly sha256: string }
  | { readonly kind: 'delete'; readonly path: string };

export interface RunChanges {
  readonly changes: readonly FileChange[];
  /** Paths that were not kept: too much, or not what may be read. */
  readonly left: readonly string[];
}

export interface SessionFiles {
  /** Remembers how the working directory stands as a run begins. Does nothing for a run that has begun before. */
  begin(place: RunPlace): Promise<void>;
  /** A file was put into the working directory of a run at work: it is there as if it had been there before. */
  given(place: RunPlace, path: string): Promise<void>;
  /** What the run made, changed and removed since it began; the bytes are kept. */
  finish(place: RunPlace): Promise<RunChanges>;
  /** Whether the state after a run is still held. */
  has(place: RunPlace): Promise<boolean>;
  /** Makes the working directory of a new session as it stood after a run. False: that is not held any more. */
  restore(from: RunPlace, to: SessionId): Promise<boolean>;
  /** The bytes of an artifact; to be closed. Null: they are gone. */
  open(sessionId: SessionId, sha256: string): Promise<FileHandle | null>;
  remove(sessionId: SessionId): Promise<void>;
  /** Sessions that have any. */
  list(): Promise<readonly SessionId[]>;
}

export interface SessionFilesOptions {
  readonly dataDir: string;
  readonly workspaces: Workspaces;
  /** Of all artifacts of a session. */
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** Of the working directory of one run, for forks. */
const mostHeldBytes = 256 * 1024 * 1024;
const statesHeld = 20;

/** An entry with where its bytes are. */
type HeldEntry =
  | Extract<Entry, { kind: 'link' }>
  | (Extract<Entry, { kind: 'file' }> & { readonly sha256: string | null });
type HeldState = ReadonlyMap<string, HeldEntry>;

export function createSessionFiles({ dataDir, workspaces, ...most }: SessionFilesOptions): SessionFiles {
  const at = (sessionId: SessionId, ...rest: string[]) => join(dataDir, 'files', sessionId, ...rest);

  async function ready(sessionId: SessionId): Promise<void> {
    for (const name of ['kept', 'held', 'begun', 'states'])
      await mkdir(at(sessionId, name), { recursive: true, mode: 0o700 });
  }

  /** The newest state of the session that tells where bytes are, and the one of the run's beginning. */
  async function before({ sessionId, runId }: RunPlace): Promise<{ begun: HeldState; newest: HeldState }> {
    const begun = await readHeld(at(sessionId, 'begun', `${runId}.json`));
    const given = await readGiven(at(sessionId, 'begun', `${runId}.given`));
    const [last] = await statesOf(sessionId);
    const newest = last === undefined ? null : await readHeld(at(sessionId, 'states', last));
    return { begun: new Map([...(begun ?? []), ...given]), newest: newest ?? new Map() };
  }

  /** Files of states, the newest first. */
  async function statesOf(sessionId: SessionId): Promise<readonly string[]> {
    const names = await readdir(at(sessionId, 'states')).catch(() => []);
    const timed = names.map(async (name) => ({ name, at: (await stat(at(sessionId, 'states', name))).mtimeMs }));
    return (await Promise.all(timed)).toSorted((a, b) => b.at - a.at).map(({ name }) => name);
  }

  async function finish(place: RunPlace): Promise<RunChanges> {
    const { sessionId } = place;
    await ready(sessionId);
    const root = await workspaces.ensure(sessionId);
    const now = await readState(root);
    const { begun, newest } = await before(place);
    const known = (path: string, stamp: string) =>
      sameFile(newest.get(path), stamp) ?? sameFile(begun.get(path), stamp);
    const room = await roomOf(at(sessionId, 'kept'), most);
    const left: string[] = [...now.skipped];
    const changes: FileChange[] = [];
    const state = new Map<string, HeldEntry>();
    for (const [path, entry] of now.entries) {
      if (entry.kind === 'link') {
        state.set(path, entry);
        continue;
      }
      const old = begun.get(path);
      const isSame = old?.kind === 'file' && old.stamp === entry.stamp;
      let sha256 = known(path, entry.stamp);
      if (!isSame && mayBeArtifact(path)) {
        const kept = room.take(entry.bytes) ? await keep(root, path, entry, at(sessionId, 'kept')) : null;
        if (kept === null) left.push(path);
        else {
          sha256 = kept.sha256;
          if (old?.kind !== 'file' || old.sha256 !== sha256)
            changes.push({ kind: old === undefined ? 'create' : 'modify', path, bytes: kept.bytes, sha256 });
        }
      }
      state.set(path, { ...entry, sha256 });
    }
    for (const [path, { kind }] of begun)
      if (kind === 'file' && !now.entries.has(path) && mayBeArtifact(path) && !now.cut)
        changes.push({ kind: 'delete', path });
    await hold(place, { root, now, state });
    return { changes, left };
  }

  /** Keeps the whole state for forks, where it is not too much, and lets the oldest go (F4). */
  async function hold(
    { sessionId, runId }: RunPlace,
    {
      root,
      now,
      state,
    }: { readonly root: string; readonly now: WorkspaceState; readonly state: Map<string, HeldEntry> },
  ): Promise<void> {
    const bytes = [...now.entries.values()].reduce((sum, entry) => sum + (entry.kind === 'file' ? entry.bytes : 0), 0);
    if (now.cut || bytes > mostHeldBytes) return;
    for (const [path, entry] of state) {
      if (entry.kind === 'link' || entry.sha256 !== null) continue;
      const kept = await keepFile(join(root, path), entry.stamp, at(sessionId, 'held'));
      // Somebody still writes to it: no state is better than another one.
      if (kept === null) return;
      state.set(path, { ...entry, sha256: kept.sha256 });
    }
    await writeHeld(at(sessionId, 'states', `${runId}.json`), state);
    const states = await statesOf(sessionId);
    const old = states.slice(statesHeld);
    if (old.length === 0) return;
    for (const name of old) await rm(at(sessionId, 'states', name), { force: true });
    await dropUnnamed(sessionId, states.slice(0, statesHeld));
  }

  async function dropUnnamed(sessionId: SessionId, states: readonly string[]): Promise<void> {
    const named = new Set<string>();
    for (const name of states)
      for (const entry of (await readHeld(at(sessionId, 'states', name)))?.values() ?? [])
        if (entry.kind === 'file' && entry.sha256 !== null) named.add(entry.sha256);
    for (const name of await readdir(at(sessionId, 'held')))
      if (!named.has(name)) await rm(at(sessionId, 'held', name), { force: true });
  }

  return {
    async begin({ sessionId, runId }) {
      await ready(sessionId);
      const path = at(sessionId, 'begun', `${runId}.json`);
      if ((await readHeld(path)) !== null) return;
      const { entries } = await readState(await workspaces.ensure(sessionId));
      const { newest } = await before({ sessionId, runId });
      const held = [...entries].map(([name, entry]): [string, HeldEntry] => [
        name,
        entry.kind === 'link' ? entry : { ...entry, sha256: sameFile(newest.get(name), entry.stamp) },
      ]);
      // Those of earlier runs of the session are of no more use.
      await rm(at(sessionId, 'begun'), { recursive: true, force: true });
      await mkdir(at(sessionId, 'begun'), { recursive: true, mode: 0o700 });
      await writeHeld(path, new Map(held));
    },
    async given({ sessionId, runId }, path) {
      await ready(sessionId);
      const stats = await lstat(join(await workspaces.ensure(sessionId), path), { bigint: true });
      const [bytes, mode] = [Number(stats.size), Number(stats.mode)];
      const entry = { kind: 'file', bytes, mode, stamp: stampOf(stats), sha256: null } satisfies HeldEntry;
      // A line at a time: two that come at once lose nothing of each other.
      await appendFile(at(sessionId, 'begun', `${runId}.given`), `${JSON.stringify([path, entry])}\n`, { mode: 0o600 });
    },
    finish,
    has: async ({ sessionId, runId }) => (await readHeld(at(sessionId, 'states', `${runId}.json`))) !== null,
    async restore({ sessionId, runId }, to) {
      const state = await readHeld(at(sessionId, 'states', `${runId}.json`));
      if (state === null) return false;
      await workspaces.fill(to, (root) => fill(root, state, [at(sessionId, 'kept'), at(sessionId, 'held')]));
      return true;
    },
    open: (sessionId, sha256) =>
      open(at(sessionId, 'kept', sha256), constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null),
    async list() {
      const names = await readdir(join(dataDir, 'files')).catch(() => []);
      return names.flatMap((name) => sessionIds.parse(name) ?? []);
    },
    async remove(sessionId) {
      // What plugins have kept for it, too (UP-52).
      for (const path of [at(sessionId), join(dataDir, 'plugin-data', sessionId)])
        await rm(path, { recursive: true, force: true });
    },
  };
}

async function keep(
  root: string,
  path: string,
  entry: Extract<Entry, { kind: 'file' }>,
  folder: string,
): Promise<{ readonly sha256: string; readonly bytes: number } | null> {
  return keepFile(join(root, path), entry.stamp, folder);
}

function sameFile(entry: HeldEntry | undefined, stamp: string): string | null {
  return entry?.kind === 'file' && entry.stamp === stamp ? entry.sha256 : null;
}

/** What a session may still keep. */
async function roomOf(
  folder: string,
  { maxBytes, maxFiles }: Pick<SessionFilesOptions, 'maxBytes' | 'maxFiles'>,
): Promise<{ take(bytes: number): boolean }> {
  const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
  let [bytesLeft, filesLeft] = [maxBytes - sizes.reduce((sum, size) => sum + size, 0), maxFiles - sizes.length];
  return {
    take(bytes) {
      if (filesLeft < 1 || bytes > bytesLeft) return false;
      filesLeft -= 1;
      bytesLeft -= bytes;
      return true;
    },
  };
}

async function fill(root: string, state: HeldState, folders: readonly string[]): Promise<void> {
  const made = new Set<string>();
  for (const [path, entry] of state) {
    const to = join(root, path);
    if (!made.has(dirname(to))) await mkdir(dirname(to), { recursive: true });
    made.add(dirname(to));
    if (entry.kind === 'link') {
      if (staysInside(path, entry.target)) await symlink(entry.target, to);
    } else if (entry.sha256 !== null) await copyHeld(entry.sha256, folders, { to, mode: entry.mode & 0o777 });
  }
}

async function copyHeld(
  sha256: string,
  folders: readonly string[],
  { to, mode }: { readonly to: string; readonly mode: number },
): Promise<void> {
  for (const folder of folders) {
    const isCopied = await copyFile(
      join(folder, sha256),
      to,
      constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE,
    ).then(
      () => true,
      () => false,
    );
    if (!isCopied) continue;
    const file = await open(to, 'r+');
    await file.chmod(mode | 0o600).finally(() => file.close());
    return;
  }
  throw new Error('The bytes of a held state are gone.');
}

/** By its text alone: the link stands in a directory that is still being made. */
function staysInside(path: string, target: string): boolean {
  if (target.startsWith('/')) return false;
  return isInside('/root', posix.join('/root', posix.dirname(path), target));
}

async function writeHeld(path: string, state: HeldState): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify([...state]), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** Null: there is none. */
async function readHeld(path: string): Promise<HeldState | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  // It was written here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return new Map(JSON.parse(text) as readonly (readonly [string, HeldEntry])[]);
}

async function readGiven(path: string): Promise<HeldState> {
  const text = await readFile(path, 'utf8').catch(() => '');
  // It was written here; a line that a crash cut off is none.
  const lines = text.split('\n').slice(0, -1);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return new Map(lines.map((line) => JSON.parse(line) as readonly [string, HeldEntry]));
}
