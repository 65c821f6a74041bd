// The files of sessions beside their working directories: what their runs made, kept for good, and how the directory stood
// after each of the newest runs, kept for forks (UD-28, UD-53).
//
// F1. `<session>/kept/<sha256>` are artifacts; they go with their session alone. `<session>/held/<sha256>` is what the states of
//     the newest runs name besides; it goes when none of them names it any more.
// F2. Only what changed since the state before is read again.
// F3. A run's changes are those since it began, also where a crash came between: how the directory stood then is on disk
//     before its harness is asked for anything. A run that never began has changed nothing.
// F4. The bounds are on what is kept. What is over them is left out and named, and the run is none the worse for it; where
//     a whole state would be over them, none is kept.

import { constants } from 'node:fs';
import { appendFile, mkdir, open, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createHeldStates, sizesOf, type RunPlace } from './held-states.ts';
import { keepChanges, type FileChange } from './keep-changes.ts';
import { fillFrom, hashIn, readHeld, readLines, writeHeld } from './held-state.ts';
import { keepFile, removeUnfinished } from './keep-file.ts';
import { parsedOrText } from '../core/json.ts';
import { z } from 'zod';
import { mayBeArtifact, readEntry, readState, type FileEntry, type WorkspaceState } from './workspace-state.ts';
import type { FileHandle } from 'node:fs/promises';
import { sessionIds, type SessionId } from '../core/ids.ts';
import type { HeldEntry, HeldState } from './held-state.ts';
import type { Workspaces } from './workspaces.ts';

export interface RunChanges {
  readonly changes: readonly FileChange[];
  /** Whether there was no room for some, or too much to look at (F4). */
  readonly isCut: boolean;
  /** Paths that could not be kept, and were not named before: too much, or not what may be read. */
  readonly left: readonly string[];
}

export interface SessionFiles {
  /**
   * Remembers how the working directory stands as a run begins. Does nothing for a run that has begun before. False: there is
   * too much of it, and what the run makes will not be known.
   */
  begin(place: RunPlace): Promise<boolean>;
  /** A file was put into the working directory of a run at work: it is there as if it had been there before. */
  given(place: RunPlace, path: string): Promise<void>;
  /** What the run made, changed and removed since it began; the bytes are kept. */
  finish(place: RunPlace): Promise<RunChanges>;
  /** What lies in the working directory, made by runs, and is not kept: links, what is too much, what is no file (B119). */
  left(sessionId: SessionId): Promise<readonly string[]>;
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
  /** Of the working directory of one run, for forks. Absent: 256 MiB. */
  readonly maxHeldBytes?: number;
}

const mostNamed = 1_000;
const paths = z.array(z.string());

export function createSessionFiles(options: SessionFilesOptions): SessionFiles {
  const { dataDir, workspaces } = options;
  const at = (sessionId: SessionId, ...rest: string[]) => join(dataDir, 'files', sessionId, ...rest);
  const states = createHeldStates(at, options);

  async function ready(sessionId: SessionId): Promise<string> {
    for (const name of ['kept', 'held', 'begun', 'states'])
      await mkdir(at(sessionId, name), { recursive: true, mode: 0o700 });
    return realpath(await workspaces.ensure(sessionId));
  }

  /** How the directory stood as the run began; null: it never has. */
  async function begunOf({ sessionId, runId }: RunPlace): Promise<HeldState | null> {
    const begun = await readHeld(at(sessionId, 'begun', `${runId}.json`));
    if (begun === null) return null;
    return new Map([...begun, ...(await readLines(at(sessionId, 'begun', `${runId}.given`)))]);
  }

  async function finish(place: RunPlace): Promise<RunChanges> {
    const { sessionId } = place;
    const root = await ready(sessionId);
    const now = await readState(root);
    const begun = await begunOf(place);
    const state = heldFrom(now, [await states.newest(sessionId), begun ?? new Map()]);
    const room = await roomOf(at(sessionId, 'kept'), options);
    let isCut = begun !== null && now.extent === 'part';
    const keep = async (path: string, entry: FileEntry) => {
      if (!room.take(entry.bytes)) {
        isCut = true;
        return null;
      }
      const sha256 = await keepFile(join(root, path), entry, at(sessionId, 'kept'));
      return sha256 === null ? null : { ...entry, sha256 };
    };
    const { changes, missed } =
      begun === null ? { changes: [], missed: [] } : await keepChanges({ root, now, begun, state, keep });
    const left = await noteLeft(sessionId, { now, changes, missed: [...now.skipped.filter(mayBeArtifact), ...missed] });
    await states.hold(place, { root, now, state });
    return { changes, isCut, left };
  }

  /** Those that were not named before. What lies there no more, or was kept since, is named no more. */
  async function noteLeft(
    sessionId: SessionId,
    {
      now,
      changes,
      missed,
    }: { readonly now: WorkspaceState; readonly changes: readonly FileChange[]; readonly missed: readonly string[] },
  ): Promise<readonly string[]> {
    const before = new Set(await leftOf(sessionId));
    const kept = new Set(changes.map(({ path }) => path));
    const still = [...before].filter((path) => now.entries.has(path) && !kept.has(path));
    const all = [...new Set([...still, ...missed])].slice(0, mostNamed);
    await writeFile(at(sessionId, 'left.json'), JSON.stringify(all), { mode: 0o600 });
    return missed.filter((path) => !before.has(path));
  }

  async function leftOf(sessionId: SessionId): Promise<readonly string[]> {
    const text = await readFile(at(sessionId, 'left.json'), 'utf8').catch(() => '');
    // What a crash has left of it names nothing.
    return paths.safeParse(parsedOrText(text)).data ?? [];
  }

  return {
    async begin({ sessionId, runId }) {
      const root = await ready(sessionId);
      // Only one run works in a session: what is unfinished was left by a crash.
      for (const folder of ['kept', 'held']) await removeUnfinished(at(sessionId, folder));
      const path = at(sessionId, 'begun', `${runId}.json`);
      if ((await readHeld(path)) !== null) return true;
      const now = await readState(root);
      // Those of earlier runs of the session are of no more use.
      await rm(at(sessionId, 'begun'), { recursive: true, force: true });
      // Of what was not looked at nobody can tell later whether it is new.
      if (now.extent === 'part') return false;
      await mkdir(at(sessionId, 'begun'), { mode: 0o700 });
      await writeHeld(path, heldFrom(now, [await states.newest(sessionId)]));
      return true;
    },
    async given({ sessionId, runId }, path) {
      const entry = await readEntry(join(await ready(sessionId), path));
      if (entry === null) return;
      const line = JSON.stringify([path, { ...entry, sha256: null } satisfies HeldEntry]);
      // A line at a time: two that come at once lose nothing of each other.
      await appendFile(at(sessionId, 'begun', `${runId}.given`), `${line}\n`, { mode: 0o600 });
    },
    finish,
    left: leftOf,
    has: async (place) => (await states.read(place)) !== null,
    async restore(from, to) {
      const state = await states.read(from);
      if (state === null) return false;
      const folders = [at(from.sessionId, 'kept'), at(from.sessionId, 'held')];
      await workspaces.fill(to, (root) => fillFrom(root, state, folders));
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

/** The state with the hashes that are known of earlier ones (F2). */
function heldFrom({ entries }: WorkspaceState, known: readonly HeldState[]): Map<string, HeldEntry> {
  const hashOf = (path: string, stamp: string) =>
    known.reduce<string | null>((found, state) => found ?? hashIn(state, path, stamp), null);
  return new Map(
    [...entries].map(([path, entry]): [string, HeldEntry] => [
      path,
      entry.kind === 'file' ? { ...entry, sha256: hashOf(path, entry.stamp) } : entry,
    ]),
  );
}

/** What a session may still keep. */
async function roomOf(
  folder: string,
  { maxBytes, maxFiles }: Pick<SessionFilesOptions, 'maxBytes' | 'maxFiles'>,
): Promise<{ take(bytes: number): boolean }> {
  const sizes = [...(await sizesOf(folder)).values()];
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
