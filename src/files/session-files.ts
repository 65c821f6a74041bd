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
import { appendFile, mkdir, open, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eachOf, keepChanges, type FileChange } from './keep-changes.ts';
import { fillFrom, hashIn, readHeld, readLines, writeHeld } from './held-state.ts';
import { keepFile } from './keep-file.ts';
import { mayBeArtifact, readEntry, readState, type FileEntry, type WorkspaceState } from './workspace-state.ts';
import type { FileHandle } from 'node:fs/promises';
import { sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { HeldEntry, HeldState } from './held-state.ts';
import type { Workspaces } from './workspaces.ts';

export interface RunPlace {
  readonly sessionId: SessionId;
  readonly runId: RunId;
}

export interface RunChanges {
  readonly changes: readonly FileChange[];
  /** Paths that could not be kept, and were not named before: too much, or not what may be read. */
  readonly left: readonly string[];
}

export interface SessionFiles {
  /** Remembers how the working directory stands as a run begins. Does nothing for a run that has begun before. */
  begin(place: RunPlace): Promise<void>;
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

const statesHeld = 20;
const mostNamed = 1_000;

export function createSessionFiles(options: SessionFilesOptions): SessionFiles {
  const { dataDir, workspaces, maxHeldBytes = 256 * 1024 * 1024 } = options;
  const at = (sessionId: SessionId, ...rest: string[]) => join(dataDir, 'files', sessionId, ...rest);

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

  async function newestState(sessionId: SessionId): Promise<HeldState> {
    const [last] = await statesOf(sessionId);
    return (last === undefined ? null : await readHeld(at(sessionId, 'states', last))) ?? new Map();
  }

  /** Files of states, the newest first. */
  async function statesOf(sessionId: SessionId): Promise<readonly string[]> {
    const names = (await readdir(at(sessionId, 'states'))).filter((name) => name.endsWith('.json'));
    const timed = names.map(async (name) => ({ name, at: (await stat(at(sessionId, 'states', name))).mtimeMs }));
    return (await Promise.all(timed)).toSorted((a, b) => b.at - a.at).map(({ name }) => name);
  }

  async function finish(place: RunPlace): Promise<RunChanges> {
    const { sessionId } = place;
    const root = await ready(sessionId);
    const now = await readState(root);
    const begun = await begunOf(place);
    const state = heldFrom(now, [await newestState(sessionId), begun ?? new Map()]);
    const room = await roomOf(at(sessionId, 'kept'), options);
    const keep = async (path: string, entry: FileEntry) => {
      if (!room.take(entry.bytes)) return null;
      const sha256 = await keepFile(join(root, path), entry, at(sessionId, 'kept'));
      return sha256 === null ? null : { ...entry, sha256 };
    };
    const { changes, missed } =
      begun === null ? { changes: [], missed: [] } : await keepChanges({ root, now, begun, state, keep });
    const left = await noteLeft(sessionId, { now, changes, missed: [...now.skipped.filter(mayBeArtifact), ...missed] });
    await hold(place, { root, now, state });
    return { changes, left };
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
    // It was written here; what a crash has left of it names nothing.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return text.endsWith(']') ? (JSON.parse(text) as readonly string[]) : [];
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
    const files = [...state].flatMap(([path, entry]) => (entry.kind === 'file' ? [[path, entry] as const] : []));
    const bytes = files.reduce((sum, [, entry]) => sum + entry.bytes, 0);
    if (now.extent !== 'whole' || bytes > maxHeldBytes) return;
    let isWhole = true;
    const unheld = files.filter(([, { sha256 }]) => sha256 === null);
    await eachOf(unheld, async ([path, entry]) => {
      const sha256 = await keepFile(join(root, path), entry, at(sessionId, 'held'));
      // Somebody still writes to it: no state is better than another one.
      if (sha256 === null) isWhole = false;
      else state.set(path, { ...entry, sha256 });
    });
    if (!isWhole) return;
    await writeHeld(at(sessionId, 'states', `${runId}.json`), state);
    await dropOld(sessionId);
  }

  /** Beyond the newest, or what all of them may take, states go, and with them what they alone have named. */
  async function dropOld(sessionId: SessionId): Promise<void> {
    const states = await statesOf(sessionId);
    const sizes = await sizesOf(at(sessionId, 'held'));
    const held = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    if (states.length <= statesHeld && held <= 2 * maxHeldBytes) return;
    const named = new Set<string>();
    let bytes = 0;
    for (const [index, name] of states.entries()) {
      const entries = [...((await readHeld(at(sessionId, 'states', name)))?.values() ?? [])];
      const hashes = entries.flatMap((entry) => (entry.kind === 'file' && entry.sha256 !== null ? [entry.sha256] : []));
      const added = new Set(hashes.filter((hash) => !named.has(hash)));
      bytes += [...added].reduce((sum, hash) => sum + (sizes.get(hash) ?? 0), 0);
      const stays = index === 0 || (index < statesHeld && bytes <= 2 * maxHeldBytes);
      if (stays) for (const hash of added) named.add(hash);
      else await rm(at(sessionId, 'states', name), { force: true });
    }
    for (const name of sizes.keys()) if (!named.has(name)) await rm(at(sessionId, 'held', name), { force: true });
  }

  return {
    async begin({ sessionId, runId }) {
      const root = await ready(sessionId);
      const path = at(sessionId, 'begun', `${runId}.json`);
      if ((await readHeld(path)) !== null) return;
      const now = await readState(root);
      // Those of earlier runs of the session are of no more use.
      await rm(at(sessionId, 'begun'), { recursive: true, force: true });
      // Of what was not looked at nobody can tell later whether it is new.
      if (now.extent === 'part') return;
      await mkdir(at(sessionId, 'begun'), { mode: 0o700 });
      await writeHeld(path, heldFrom(now, [await newestState(sessionId)]));
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
    has: async ({ sessionId, runId }) => (await readHeld(at(sessionId, 'states', `${runId}.json`))) !== null,
    async restore({ sessionId, runId }, to) {
      const state = await readHeld(at(sessionId, 'states', `${runId}.json`));
      if (state === null) return false;
      await workspaces.fill(to, (root) => fillFrom(root, state, [at(sessionId, 'kept'), at(sessionId, 'held')]));
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

async function sizesOf(folder: string): Promise<ReadonlyMap<string, number>> {
  const sizes = (await readdir(folder)).map(async (name) => [name, (await stat(join(folder, name))).size] as const);
  return new Map(await Promise.all(sizes));
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
