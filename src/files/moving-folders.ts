// Working directories that go from one machine to another through the bucket that both reach.
//
// M1. A directory stands here as its session needs it, or it is made anew from what is stored, or that is said: never is another
//     state taken for it. Its mark tells; it is set when a run has left the directory for good, by who owned the run until then.
//     Where a state cannot be stored, that stands in its place (`not-stored.ts`): an older one is no use any more.
// M2. A run that is parked, or left by a server that stops, takes along what it has done and how it began, so that whoever goes on
//     finds all that it made (F3). What a crash cuts off is left behind: the run goes on from where it was parked last, or began.
// M3. One at a time puts a directory in its place, or marks it: whoever comes meanwhile waits for that.
// M4. A process speaks for the directory of a run only where it put it in its place under the very ownership that it has.

import { copierOf, listSession } from './session-blobs.ts';
import { fillFrom, hashOf, type HeldEntry, type HeldState } from './held-state.ts';
import { noMark, type SessionNotes } from './session-notes.ts';
import { notStoredText, type NotStored } from './not-stored.ts';
import { parkedKey, planFolder, type Plan, type SettleOptions, type WhyElsewhere } from './plan-folder.ts';
import { readState, type Entry } from './workspace-state.ts';
import { realpath } from 'node:fs/promises';
import type { BlobStore, WhyNotStored } from './blob-store.ts';
import type { HeldStates, RunPlace, Standing } from './held-states.ts';
import type { SessionId } from '../core/ids.ts';
import type { Workspaces } from './workspaces.ts';

/** A run as somebody owns it. */
export interface OwnedPlace extends RunPlace {
  /** Absent: that of who admits it. */
  readonly generation?: number;
}

/** `elsewhere`: one machine alone has the directory; why, where that is known. */
export type Settled = { readonly at: 'here' } | { readonly at: 'elsewhere'; readonly why: WhyElsewhere };

export interface MovingFolders {
  settle(place: OwnedPlace, o: SettleOptions): Promise<Settled>;
  /** Whether it was put in its place here, by this process, for who owns the run so (M4). */
  hasSettled(place: OwnedPlace): boolean;
  /** Null: another machine can go on with the run. */
  park(place: RunPlace, standing: Standing & { readonly begun: HeldState }): Promise<WhyNotStored | null>;
  /** Says instead that only this machine can. */
  stay(place: RunPlace, said: NotStored): Promise<void>;
  /** Why another machine alone can go on with a run that was left; null: that is not so. */
  whyElsewhere(place: RunPlace, after: RunPlace | null): Promise<WhyElsewhere | null>;
  /** What was stored of how the run leaves the directory, before its end is. */
  noteLeft(place: RunPlace, text: string): Promise<void>;
  /** The run has left it for good. True: what it had parked is of no more use. */
  leave(place: OwnedPlace): Promise<boolean>;
  dropParked(place: RunPlace): Promise<void>;
  forget(sessionId: SessionId): void;
}

export function createMovingFolders(parts: {
  readonly blobs: BlobStore;
  readonly states: HeldStates;
  readonly notes: SessionNotes;
  readonly workspaces: Workspaces;
}): MovingFolders {
  const { blobs, states, notes, workspaces } = parts;
  const turns = new Map<SessionId, Promise<unknown>>();
  /** Runs whose directories this process has put in their place: it needs to ask nobody where they end. */
  const settled = new Map<SessionId, string>();
  const hasSettled = (place: OwnedPlace) => settled.get(place.sessionId) === ownershipOf(place);

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

  async function perform(plan: Exclude<Plan, { do: 'refuse' }>, place: RunPlace): Promise<void> {
    const { sessionId } = place;
    switch (plan.do) {
      case 'nothing':
        return;
      case 'unpark': {
        const { state, begun, after, hash } = plan;
        await notes.begin(place, rebased(begun, state, await replace(sessionId, state, sessionId)));
        return notes.setMark(sessionId, { ...noMark, after: after?.runId ?? null, parked: hash });
      }
      case 'come':
        if (plan.state !== null) await replace(sessionId, plan.state, plan.after.sessionId);
        return notes.setMark(sessionId, { ...noMark, after: plan.after.runId });
    }
  }

  async function settle(place: OwnedPlace, options: SettleOptions): Promise<Settled> {
    if (options.how === 'end' && hasSettled(place)) return asNeeded;
    const plan = await planFolder(parts, place, options);
    if (plan.do === 'refuse') return { at: 'elsewhere', why: plan.why };
    await perform(plan, place);
    return asNeeded;
  }

  async function putParked(place: RunPlace, text: string): Promise<void> {
    await blobs.put(parkedKey(place), new TextEncoder().encode(text));
    await notes.setMark(place.sessionId, { ...(await notes.mark(place.sessionId)), parked: hashOf(text) });
  }

  /** One at a time (M3). */
  async function inTurn<T>(sessionId: SessionId, work: () => Promise<T>): Promise<T> {
    const before = turns.get(sessionId)?.catch(() => {});
    const turn = Promise.resolve(before).then(work);
    turns.set(sessionId, turn);
    return turn.finally(() => {
      if (turns.get(sessionId) === turn) turns.delete(sessionId);
    });
  }

  return {
    hasSettled,
    async settle(place, options) {
      if (blobs.place === 'data-folder') return asNeeded;
      const found = await inTurn(place.sessionId, () => settle(place, options));
      if (found.at === 'here') settled.set(place.sessionId, ownershipOf(place));
      return found;
    },
    noteLeft: async ({ sessionId }, text) =>
      notes.setMark(sessionId, { ...(await notes.mark(sessionId)), left: hashOf(text) }),
    async leave(place) {
      const { sessionId, runId } = place;
      return inTurn(sessionId, async () => {
        // Who ends a run without its directory speaks of none.
        if (!hasSettled(place)) return false;
        settled.delete(sessionId);
        const { parked } = await notes.mark(sessionId);
        await notes.setMark(sessionId, { ...noMark, after: runId });
        return parked !== null;
      });
    },
    dropParked: (place) => blobs.remove(parkedKey(place)),
    forget: (sessionId) => void settled.delete(sessionId),
    async park(place, { begun, ...standing }) {
      const why = await states.secure(place.sessionId, standing);
      if (why !== null) return why;
      const { state } = standing;
      const known = [...begun].map(([path, entry]) => [path, withHashSince(entry, state.get(path))]);
      await putParked(place, [[...state], known].map((each) => JSON.stringify(each)).join('\n'));
      return null;
    },
    async whyElsewhere(place, after) {
      const plan = await planFolder(parts, place, { after, how: 'continue' });
      return plan.do === 'refuse' ? plan.why : null;
    },
    stay: (place, said) => putParked(place, notStoredText(said)),
  };
}

const asNeeded = { at: 'here' } as const;

function ownershipOf({ runId, generation = 1 }: OwnedPlace): string {
  return `${runId}:${generation}`;
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
