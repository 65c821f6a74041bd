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

import { copierOf, listSession, sessionKey } from './session-blobs.ts';
import { createFolderBlobs } from './folder-blobs.ts';
import { createHeldStates, type RunPlace } from './held-states.ts';
import { createMovingFolders } from './moving-folders.ts';
import { createSessionNotes, noMark } from './session-notes.ts';
import { fillFrom, hashIn } from './held-state.ts';
import { join } from 'node:path';
import { keepOfRun, type KeepBounds, type RunChanges } from './keep-of-run.ts';
import { removeUnfinished } from './keep-file.ts';
import { readEntry, readState, type WorkspaceState } from './workspace-state.ts';
import { eachOf } from './each-of.ts';
import { createLeftFiles } from './left-files.ts';
import type { BlobStore, BlobSum, OpenBlob, WhyNotStored } from './blob-store.ts';
import { readdir, realpath, rm } from 'node:fs/promises';
import { sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { HeldEntry, HeldState } from './held-state.ts';
import type { OwnedPlace, Settled } from './moving-folders.ts';
import type { SettleOptions, WhyElsewhere } from './plan-folder.ts';
import type { Workspaces } from './workspaces.ts';

export interface SessionFiles {
  /**
   * Remembers how the working directory stands as a run begins. Does nothing for a run that has begun before. False: there is
   * too much of it, and what the run makes will not be known.
   */
  begin(place: RunPlace): Promise<boolean>;
  /** Whether it was remembered, on this machine or by what the run brought along. */
  hasBegun(place: RunPlace): Promise<boolean>;
  /** A file was put into the working directory of a run at work: it is there as if it had been there before. */
  given(place: RunPlace, path: string): Promise<void>;
  /** What the run made, changed and removed since it began; the bytes are kept. To be asked by its owner alone. */
  finish(place: RunPlace): Promise<RunChanges>;
  /** Once its end is stored, whatever `finish` came to. True: what it had parked can be dropped. */
  leave(place: OwnedPlace): Promise<boolean>;
  dropParked(place: RunPlace): Promise<void>;
  /** What lies in the working directory, made by runs, and is not kept: links, what is too much, what is no file (B119). */
  left(sessionId: SessionId): Promise<readonly string[]>;
  /** Whether the state after a run is still held. */
  has(place: RunPlace): Promise<boolean>;
  /** Makes the working directory of a new session as it stood after a run. False: that is not held any more. */
  restore(from: RunPlace, to: SessionId): Promise<boolean>;
  /** The bytes of an artifact. Null: they are gone. */
  open(sessionId: SessionId, sum: BlobSum): Promise<OpenBlob | null>;
  /** Hashes of the artifacts whose bytes are there. */
  kept(sessionId: SessionId): Promise<ReadonlySet<string>>;
  /** Whether directories can be on another machine than this one. */
  readonly foldersMove: boolean;
  /**
   * Puts the working directory that a run goes on with in its place on this machine. Nothing happens where all machines have
   * the same folder.
   */
  settle(place: OwnedPlace, options: SettleOptions): Promise<Settled>;
  /** Before another machine may go on with a run. Null: it can. */
  park(place: OwnedPlace): Promise<WhyNotStored | null>;
  /** Where it cannot, or parking failed: so that none goes on from another state. @param by  A name of this process alone. */
  stay(place: RunPlace, o: { readonly why: WhyNotStored; readonly by: string }): Promise<void>;
  /** Why another machine alone can go on with a run that was left; null: that is not so. Nothing is changed. */
  whyElsewhere(place: RunPlace, after: RunPlace | null): Promise<WhyElsewhere | null>;
  remove(sessionId: SessionId): Promise<void>;
  /** Sessions that have any. */
  list(): Promise<readonly SessionId[]>;
}

export interface SessionFilesOptions extends KeepBounds {
  readonly dataDir: string;
  readonly workspaces: Workspaces;
  /** Absent: the data folder. */
  readonly blobs?: BlobStore;
  /** Of the working directory of one run, for forks. Absent: 256 MiB. */
  readonly maxHeldBytes?: number;
}

export function createSessionFiles(options: SessionFilesOptions): SessionFiles {
  const { dataDir, workspaces, blobs = createFolderBlobs(options.dataDir) } = options;
  const notes = createSessionNotes(dataDir);
  const states = createHeldStates({ ...options, blobs, stagingOf: (sessionId) => notes.folder(sessionId, 'held') });
  const moving = createMovingFolders({ blobs, states, notes, workspaces });
  const leftFiles = createLeftFiles(blobs);
  const foldersMove = blobs.place === 'bucket';
  /** Runs at work here that began with more than could be remembered. */
  const unremembered = new Map<SessionId, RunId>();

  async function ready(sessionId: SessionId): Promise<string> {
    await notes.makeFolders(sessionId);
    return realpath(await workspaces.ensure(sessionId));
  }

  /** How a working directory stands, with what is known of it. */
  async function lookAt(root: string, { sessionId, runId }: RunPlace) {
    const [now, there, known, begun] = await Promise.all([
      readState(root),
      listSession(blobs, sessionId),
      notes.known(sessionId),
      notes.begun({ sessionId, runId }),
    ]);
    return { root, now, there, begun, state: heldFrom(now, [known, begun ?? new Map()]) };
  }

  return {
    foldersMove,
    async begin(place) {
      const { sessionId } = place;
      unremembered.set(sessionId, place.runId);
      const root = await ready(sessionId);
      // Only one run works in a session: what is unfinished was left by a crash.
      for (const name of ['kept', 'held']) await removeUnfinished(notes.folder(sessionId, name));
      if ((await notes.begun(place)) === null) {
        const now = await readState(root);
        // Of what was not looked at nobody can tell later whether it is new.
        if (now.extent === 'part') {
          await notes.forgetBegun(sessionId);
          return false;
        }
        await notes.begin(place, heldFrom(now, [await notes.known(sessionId)]));
      }
      unremembered.delete(sessionId);
      return true;
    },
    hasBegun: async (place) => (await notes.begun(place)) !== null,
    async given(place, path) {
      const entry = await readEntry(join(await ready(place.sessionId), path));
      if (entry !== null) await notes.given(place, path, { ...entry, sha256: null });
    },
    async finish(place) {
      const standing = await lookAt(await ready(place.sessionId), place);
      const { held, ...found } = await keepOfRun(place, standing, { ...options, blobs, notes, states, leftFiles });
      if (held.isWhole) await notes.setKnown(place.sessionId, standing.state);
      if (foldersMove) await moving.noteLeft(place, held.text);
      return found;
    },
    leave: async (place) => foldersMove && moving.leave(place),
    dropParked: (place) => moving.dropParked(place),
    left: (sessionId) => leftFiles.read(sessionId),
    has: async (place) => (await states.read(place)) !== null,
    async restore(from, to) {
      const state = await states.read(from);
      if (state === null) return false;
      const copy = copierOf(blobs, from.sessionId, await listSession(blobs, from.sessionId));
      await workspaces.fill(to, (root) => fillFrom(root, state, copy));
      if (!foldersMove) return true;
      await notes.makeFolders(to);
      await notes.setMark(to, { ...noMark, after: from.runId });
      return true;
    },
    settle: (place, o) => moving.settle(place, o),
    async park(place) {
      // Else nothing was done here: what is stored is the newest.
      if (!foldersMove || !moving.hasSettled(place)) return null;
      const { begun, ...standing } = await lookAt(await ready(place.sessionId), place);
      if (begun !== null) return moving.park(place, { ...standing, begun });
      return unremembered.get(place.sessionId) === place.runId ? 'not-whole' : null;
    },
    whyElsewhere: async (place, after) => (foldersMove ? moving.whyElsewhere(place, after) : null),
    stay: (place, { why, by }) => moving.stay(place, { notStored: why, of: by }),
    open: (sessionId, bytes) => blobs.open(sessionKey(sessionId, 'kept', bytes.sha256), bytes),
    kept: async (sessionId) => new Set((await listSession(blobs, sessionId)).kept.keys()),
    async list() {
      const names = new Set(await readdir(join(dataDir, 'files')).catch(() => []));
      for await (const name of blobs.names('files')) names.add(name);
      return [...names].flatMap((name) => sessionIds.parse(name) ?? []);
    },
    async remove(sessionId) {
      moving.forget(sessionId);
      unremembered.delete(sessionId);
      // What plugins have kept for it, too (UP-52).
      for (const path of [notes.folder(sessionId), join(dataDir, 'plugin-data', sessionId)])
        await rm(path, { recursive: true, force: true });
      const keys = await Array.fromAsync(blobs.list(sessionKey(sessionId)), ({ key }) => key);
      await eachOf(keys, (key) => blobs.remove(key));
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
