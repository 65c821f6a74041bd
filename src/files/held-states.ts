// How working directories stood after the newest runs of their sessions (UD-28). Bytes that are artifacts are `kept` by
// `session-files.ts`; what the states name besides is `held` here, and goes with the last state that names it.

import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { eachOf } from './each-of.ts';
import { isUnfinished, keepFile } from './keep-file.ts';
import { readHeld, writeHeld, type HeldEntry, type HeldState } from './held-state.ts';
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
}

export interface HeldStates {
  /** Null: it is not held, or not any more. */
  read(place: RunPlace): Promise<HeldState | null>;
  /** Empty where none is held. */
  newest(sessionId: SessionId): Promise<HeldState>;
  /** Where it is whole and not too much; then the oldest go. */
  hold(place: RunPlace, standing: Standing): Promise<void>;
}

const statesHeld = 20;

/** @param at  A path of a session. */
export function createHeldStates(
  at: (sessionId: SessionId, ...rest: string[]) => string,
  { maxHeldBytes = 256 * 1024 * 1024 }: { readonly maxHeldBytes?: number },
): HeldStates {
  /** Files of states, the newest first. */
  async function listed(sessionId: SessionId): Promise<readonly string[]> {
    const names = (await readdir(at(sessionId, 'states'))).filter((name) => name.endsWith('.json'));
    const timed = names.map(async (name) => ({ name, at: (await stat(at(sessionId, 'states', name))).mtimeMs }));
    return (await Promise.all(timed)).toSorted((a, b) => b.at - a.at).map(({ name }) => name);
  }

  /** False: somebody still writes to it. No state is better than another one. */
  async function holdBytes(sessionId: SessionId, { root, state }: Standing): Promise<boolean> {
    let isWhole = true;
    await eachOf([...state], async ([path, entry]) => {
      if (entry.kind !== 'file' || entry.sha256 !== null) return;
      const sha256 = await keepFile(join(root, path), entry, at(sessionId, 'held'));
      if (sha256 === null) isWhole = false;
      else state.set(path, { ...entry, sha256 });
    });
    return isWhole;
  }

  /** Beyond the newest, or what all of them may take, states go, and with them what they alone have named. */
  async function dropOld(sessionId: SessionId): Promise<void> {
    const states = await listed(sessionId);
    const sizes = await sizesOf(at(sessionId, 'held'));
    const held = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    if (states.length <= statesHeld && held <= 2 * maxHeldBytes) return;
    const named = new Set<string>();
    let bytes = 0;
    for (const [index, name] of states.entries()) {
      const hashes = hashesOf(await readHeld(at(sessionId, 'states', name)));
      const added = new Set(hashes.filter((hash) => !named.has(hash)));
      bytes += [...added].reduce((sum, hash) => sum + (sizes.get(hash) ?? 0), 0);
      const stays = index === 0 || (index < statesHeld && bytes <= 2 * maxHeldBytes);
      if (stays) for (const hash of added) named.add(hash);
      else await rm(at(sessionId, 'states', name), { force: true });
    }
    for (const name of sizes.keys()) if (!named.has(name)) await rm(at(sessionId, 'held', name), { force: true });
  }

  return {
    read: ({ sessionId, runId }) => readHeld(at(sessionId, 'states', `${runId}.json`)),
    async newest(sessionId) {
      const [last] = await listed(sessionId);
      return (last === undefined ? null : await readHeld(at(sessionId, 'states', last))) ?? new Map();
    },
    async hold({ sessionId, runId }, standing) {
      const sizes = [...standing.state.values()].map((entry) => (entry.kind === 'file' ? entry.bytes : 0));
      const bytes = sizes.reduce((sum, size) => sum + size, 0);
      if (standing.now.extent !== 'whole' || bytes > maxHeldBytes) return;
      if (!(await holdBytes(sessionId, standing))) return;
      await writeHeld(at(sessionId, 'states', `${runId}.json`), standing.state);
      await dropOld(sessionId);
    },
  };
}

function hashesOf(state: HeldState | null): readonly string[] {
  const entries = [...(state?.values() ?? [])];
  return entries.flatMap((entry) => (entry.kind === 'file' && entry.sha256 !== null ? [entry.sha256] : []));
}

/** Of what is kept in a folder, by hash; not of what a crash has cut off. */
export async function sizesOf(folder: string): Promise<ReadonlyMap<string, number>> {
  const names = (await readdir(folder)).filter((name) => !isUnfinished(name));
  return new Map(await Promise.all(names.map(async (name) => [name, (await stat(join(folder, name))).size] as const)));
}
