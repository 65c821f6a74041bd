// How working directories stood after the newest runs of their sessions (UD-28). Bytes that are artifacts are `kept` by
// `session-files.ts`; what the states name besides is `held` here, and goes with the last state that names it.

import { join } from 'node:path';
import { eachOf } from './each-of.ts';
import { keepFile } from './keep-file.ts';
import { notStoredText } from './not-stored.ts';
import { hashOf, parseHeld, type HeldEntry, type HeldState } from './held-state.ts';
import { readBlobText, type BlobStore, type WhyNotStored } from './blob-store.ts';
import { sessionKey, type SessionBlobs } from './session-blobs.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { WorkspaceState } from './workspace-state.ts';

export interface RunPlace {
  readonly sessionId: SessionId;
  readonly runId: RunId;
}

export interface Standing {
  readonly root: string;
  readonly now: WorkspaceState;
  /** That of now, with the hashes that are known; the others are added. */
  readonly state: Map<string, HeldEntry>;
  /** What is added to it is noted. */
  readonly there: SessionBlobs;
}

export interface Held {
  readonly isWhole: boolean;
  /** What was stored. */
  readonly text: string;
}

export interface HeldStates {
  /** As it is stored: the state, or why it is not. Null: there is neither, or not any more. */
  text(place: RunPlace): Promise<string | null>;
  /** Null: it is not held, or not any more. */
  read(place: RunPlace): Promise<HeldState | null>;
  /** Stores all bytes of a state. Null: they are there. */
  secure(sessionId: SessionId, standing: Standing): Promise<WhyNotStored | null>;
  /** Where it can be secured; then the oldest go. Else why not is stored in its place. */
  hold(place: RunPlace, standing: Standing): Promise<Held>;
}

export interface HeldStatesOptions {
  readonly blobs: BlobStore;
  /** Where files of a session are copied to first. */
  readonly stagingOf: (sessionId: SessionId) => string;
  readonly maxHeldBytes?: number;
}

const statesHeld = 20;

export function createHeldStates({
  blobs,
  stagingOf,
  maxHeldBytes = 256 * 1024 * 1024,
}: HeldStatesOptions): HeldStates {
  const textNamed = (sessionId: SessionId, name: string) => readBlobText(blobs, sessionKey(sessionId, 'states', name));

  async function secure(sessionId: SessionId, { root, now, state, there }: Standing): Promise<WhyNotStored | null> {
    const sizes = [...state.values()].map((entry) => (entry.kind === 'file' ? entry.bytes : 0));
    if (now.extent !== 'whole') return 'not-whole';
    if (sum(sizes) > maxHeldBytes) return 'too-large';
    const isThere = (hash: string) => there.kept.has(hash) || there.held.has(hash);
    let isWhole = true;
    await eachOf([...state], async ([path, entry]) => {
      if (entry.kind !== 'file' || (entry.sha256 !== null && isThere(entry.sha256))) return;
      const sha256 = await keepFile(join(root, path), entry, {
        folder: stagingOf(sessionId),
        async put(copy) {
          if (isThere(copy.sha256)) return;
          await blobs.put(sessionKey(sessionId, 'held', copy.sha256), copy);
          there.held.set(copy.sha256, copy.bytes);
        },
      });
      if (sha256 === null) isWhole = false;
      else state.set(path, { ...entry, sha256 });
    });
    // No state is better than another one.
    return isWhole ? null : 'changing';
  }

  /** Beyond the newest, or what all of them may take, states go, and with them what they alone have named. */
  async function dropOld(sessionId: SessionId, { states, held }: SessionBlobs): Promise<void> {
    if (states.size <= statesHeld && sum(held.values()) <= 2 * maxHeldBytes) return;
    const newestFirst = [...states].toSorted(([, a], [, b]) => b - a).map(([name]) => name);
    const named = new Set<string>();
    let bytes = 0;
    for (const [index, name] of newestFirst.entries()) {
      const mayStay = index < statesHeld;
      const hashes = mayStay && held.size > 0 ? hashesOf(parseHeld(await textNamed(sessionId, name))) : [];
      const added = new Set(hashes.filter((hash) => !named.has(hash)));
      bytes += sum([...added].map((hash) => held.get(hash) ?? 0));
      if (mayStay && (index === 0 || bytes <= 2 * maxHeldBytes)) for (const hash of added) named.add(hash);
      else await blobs.remove(sessionKey(sessionId, 'states', name));
    }
    for (const hash of held.keys()) if (!named.has(hash)) await blobs.remove(sessionKey(sessionId, 'held', hash));
  }

  return {
    secure,
    text: ({ sessionId, runId }) => textNamed(sessionId, `${runId}.json`),
    read: async ({ sessionId, runId }) => parseHeld(await textNamed(sessionId, `${runId}.json`)),
    async hold({ sessionId, runId }, standing) {
      const why = await secure(sessionId, standing);
      const state = JSON.stringify([...standing.state]);
      const text = why === null ? state : notStoredText({ notStored: why, of: hashOf(state) });
      const name = `${runId}.json`;
      await blobs.put(sessionKey(sessionId, 'states', name), new TextEncoder().encode(text));
      standing.there.states.set(name, Infinity);
      if (why === null) await dropOld(sessionId, standing.there);
      return { isWhole: why === null, text };
    },
  };
}

function hashesOf(state: HeldState | null): readonly string[] {
  const entries = [...(state?.values() ?? [])];
  return entries.flatMap((entry) => (entry.kind === 'file' && entry.sha256 !== null ? [entry.sha256] : []));
}

export function sum(sizes: Iterable<number>): number {
  return [...sizes].reduce((total, size) => total + size, 0);
}
