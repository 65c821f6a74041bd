import { parsedOrText } from '../core/json.ts';
import { readBlobText, type BlobStore } from './blob-store.ts';
import { sessionKey, type SessionBlobs } from './session-blobs.ts';
import { z } from 'zod';
import type { SessionId } from '../core/ids.ts';
import type { WorkspaceState } from './workspace-state.ts';

/** Names of what lies in working directories, made by runs, and is not kept. */
export interface LeftFiles {
  read(sessionId: SessionId): Promise<readonly string[]>;
  /** Gives those that were not named before. What lies there no more, or was kept since, is named no more. */
  note(sessionId: SessionId, found: FoundLeft): Promise<readonly string[]>;
}

export interface FoundLeft {
  readonly now: WorkspaceState;
  readonly there: SessionBlobs;
  readonly kept: ReadonlySet<string>;
  readonly missed: readonly string[];
}

const file = 'left.json';
const mostNamed = 1_000;
const paths = z.array(z.string());

export function createLeftFiles(blobs: BlobStore): LeftFiles {
  async function read(sessionId: SessionId): Promise<readonly string[]> {
    const text = await readBlobText(blobs, sessionKey(sessionId, file));
    // What a crash has left of it names nothing.
    return paths.safeParse(parsedOrText(text ?? '')).data ?? [];
  }
  return {
    read,
    async note(sessionId, { now, there, kept, missed }) {
      const before = there.others.has(file) ? await read(sessionId) : [];
      const still = before.filter((path) => now.entries.has(path) && !kept.has(path));
      const text = JSON.stringify([...new Set([...still, ...missed])].slice(0, mostNamed));
      if (text !== JSON.stringify(before)) await blobs.put(sessionKey(sessionId, file), new TextEncoder().encode(text));
      return missed.filter((path) => !before.includes(path));
    },
  };
}
