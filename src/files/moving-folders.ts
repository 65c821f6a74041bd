// Working directories that go from one machine to another through the bucket that both reach.
//
// M1. A directory stands here as its session needs it, or it is made anew from what is stored, or that is said: never is another
//     state taken for it. Its mark tells; it is set when a run leaves the directory for good.
// M2. A run that is parked, or left by a server that stops, takes along what it has done and how it began, so that whoever goes on
//     finds all that it made (F3). What a crash cuts off is left behind: the run goes on from where it was parked last, or began.
// M3. One at a time puts a directory in its place: whoever comes meanwhile waits for that.

import { copierOf, listSession, sessionKey } from './session-blobs.ts';
import { createHash } from 'node:crypto';
import { fillFrom, parseHeld, type HeldEntry, type HeldState } from './held-state.ts';
import { readBlobText, type BlobStore } from './blob-store.ts';
import { readState, type Entry } from './workspace-state.ts';
import { realpath } from 'node:fs/promises';
import type { HeldStates, RunPlace, Standing } from './held-states.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { SessionNotes } from './session-notes.ts';
import type { Workspaces } from './workspaces.ts';

export interface MovingFolders {
  /** False: it is not here, and not stored. */
  settle(place: RunPlace, o: SettleOptions): Promise<boolean>;
  /** False: only this machine can go on with the run. */
  park(place: RunPlace, standing: Standing): Promise<boolean>;
  /** The run leaves the directory for good. */
  leave(place: RunPlace): Promise<void>;
  forget(sessionId: SessionId): void;
}

export interface SettleOptions {
  /** The run whose directory it goes on with, its own session's or that it was forked from. Null: it begins with nothing. */
  readonly after: RunPlace | null;
  /** `continue`: it has begun before, here or elsewhere. `end`: it goes no further, and may not have been here. */
  readonly how: 'begin' | 'continue' | 'end';
}

export function createMovingFolders(parts: {
  readonly blobs: BlobStore;
  readonly states: HeldStates;
  readonly notes: SessionNotes;
  readonly workspaces: Workspaces;
}): MovingFolders {
  const { blobs, states, notes, workspaces } = parts;
  const settling = new Map<SessionId, Promise<boolean>>();
  /** Runs whose directories this process has put in their place: it needs to ask nobody where they end. */
  const settled = new Map<SessionId, RunId>();
  const parkedKey = ({ sessionId, runId }: RunPlace) => sessionKey(sessionId, 'parked', `${runId}.json`);

  /** As it stands then, with the hashes of the state. */
  async function replace(sessionId: SessionId, state: HeldState, from: SessionId): Promise<HeldState> {
    const copy = copierOf(blobs, from, await listSession(blobs, from));
    await workspaces.remove(sessionId);
    await workspaces.fill(sessionId, (root) => fillFrom(root, state, copy));
    const { entries } = await readState(await realpath(await workspaces.ensure(sessionId)));
    const stands = new Map([...entries].map(([path, entry]) => [path, withHash(entry, state.get(path))] as const));
    await notes.makeFolders(sessionId);
    await notes.setKnown(sessionId, stands);
    return stands;
  }

  async function settle(place: RunPlace, { after, how }: SettleOptions): Promise<boolean> {
    const { sessionId, runId } = place;
    if (how === 'end' && settled.get(sessionId) === runId) return true;
    const continues = how !== 'begin';
    const mark = await notes.mark(sessionId);
    const parked = continues ? await readBlobText(blobs, parkedKey(place)) : null;
    const [state, begun] = parked?.split('\n').map(parseHeld) ?? [];
    if (parked !== null && state && begun) {
      if (mark.parked === hashOf(parked)) return true;
      const stands = await replace(sessionId, state, sessionId);
      await notes.begin(place, rebased(begun, state, stands));
      await notes.setMark(sessionId, { after: after?.runId ?? null, parked: hashOf(parked) });
      return true;
    }
    if (after === null || mark.after === after.runId) return true;
    if (continues && (await notes.begun(place)) !== null) return true;
    const left = await states.read(after);
    if (left === null) return false;
    await replace(sessionId, left, after.sessionId);
    await notes.setMark(sessionId, { after: after.runId, parked: null });
    return true;
  }

  return {
    async settle(place, options) {
      if (blobs.place === 'data-folder') return true;
      const { sessionId, runId } = place;
      const before = settling.get(sessionId)?.catch(() => false);
      const turn = Promise.resolve(before).then(() => settle(place, options));
      settling.set(sessionId, turn);
      const isHere = await turn.finally(() => {
        if (settling.get(sessionId) === turn) settling.delete(sessionId);
      });
      if (isHere) settled.set(sessionId, runId);
      return isHere;
    },
    async leave({ sessionId, runId }) {
      settled.delete(sessionId);
      if (blobs.place === 'bucket') await notes.setMark(sessionId, { after: runId, parked: null });
    },
    forget: (sessionId) => void settled.delete(sessionId),
    async park(place, standing) {
      const { sessionId } = place;
      const begun = await notes.begun(place);
      if (begun === null || !(await states.secure(sessionId, standing))) return begun === null;
      const { state } = standing;
      const known = [...begun].map(([path, entry]) => [path, withHashSince(entry, state.get(path))]);
      const text = [[...state], known].map((each) => JSON.stringify(each)).join('\n');
      await blobs.put(parkedKey(place), new TextEncoder().encode(text));
      await notes.setMark(sessionId, { ...(await notes.mark(sessionId)), parked: hashOf(text) });
      return true;
    },
  };
}

/** The entry as it stands, with the hash that its bytes were made from. */
function withHash(entry: Entry, made: HeldEntry | undefined): HeldEntry {
  return entry.kind === 'file' ? { ...entry, sha256: made?.kind === 'file' ? made.sha256 : null } : entry;
}

/** What was not touched since has the hash that it had later. */
function withHashSince(entry: HeldEntry, later: HeldEntry | undefined): HeldEntry {
  const isSame = entry.kind === 'file' && later?.kind === 'file' && entry.stamp === later.stamp;
  return isSame ? later : entry;
}

/** How the run began, as if it had begun here: what it has not changed has the stamp that it has here. */
function rebased(begun: HeldState, state: HeldState, stands: HeldState): HeldState {
  const here = ([path, entry]: [string, HeldEntry]): [string, HeldEntry] => {
    const [made, stood] = [state.get(path), stands.get(path)];
    const isSame =
      entry.kind === 'file' && entry.sha256 !== null && made?.kind === 'file' && made.sha256 === entry.sha256;
    return [path, isSame && stood !== undefined ? stood : entry];
  };
  return new Map([...begun].map(here));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
