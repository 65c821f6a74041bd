import { join } from 'node:path';
import { keepChanges, type FileChange } from './keep-changes.ts';
import { keepFile } from './keep-file.ts';
import { mayBeArtifact, type FileEntry } from './workspace-state.ts';
import { sessionKey, type SessionBlobs } from './session-blobs.ts';
import { sum, type Held, type HeldStates, type RunPlace, type Standing } from './held-states.ts';
import type { BlobStore, StagedFile } from './blob-store.ts';
import type { HeldState } from './held-state.ts';
import type { LeftFiles } from './left-files.ts';
import type { SessionId } from '../core/ids.ts';
import type { SessionNotes } from './session-notes.ts';

export interface RunChanges {
  readonly changes: readonly FileChange[];
  /** Whether there was no room for some, or too much to look at (F4). */
  readonly isCut: boolean;
  /** Paths that could not be kept, and were not named before: too much, or not what may be read. */
  readonly left: readonly string[];
}

/** Of all artifacts of a session. */
export interface KeepBounds {
  readonly maxBytes: number;
  readonly maxFiles: number;
}

interface Keepers extends KeepBounds {
  readonly blobs: BlobStore;
  readonly notes: SessionNotes;
  readonly states: HeldStates;
  readonly leftFiles: LeftFiles;
}

/** Keeps what a run has made, and how it leaves its working directory. @param begun  Null: it never began. */
export async function keepOfRun(
  place: RunPlace,
  standing: Standing & { readonly begun: HeldState | null },
  keepers: Keepers,
): Promise<RunChanges & { readonly held: Held }> {
  const { sessionId } = place;
  const { root, now, there, begun, state } = standing;
  const { blobs, notes, states, leftFiles } = keepers;
  const room = roomOf(there, keepers);
  let isCut = begun !== null && now.extent === 'part';
  const keep = async (path: string, entry: FileEntry) => {
    if (entry.bytes > blobs.maxBytes || !room.take(entry.bytes)) {
      isCut = true;
      return null;
    }
    const folder = notes.folder(sessionId, 'kept');
    const put = (copy: StagedFile) => keepCopy(blobs, { sessionId, there }, copy);
    const sha256 = await keepFile(join(root, path), entry, { folder, put });
    return sha256 === null ? null : { ...entry, sha256 };
  };
  const { changes, missed } =
    begun === null ? { changes: [], missed: [] } : await keepChanges({ root, now, begun, state, keep });
  const left = await leftFiles.note(sessionId, {
    now,
    there,
    kept: new Set(changes.map(({ path }) => path)),
    missed: [...now.skipped.filter(mayBeArtifact), ...missed],
  });
  return { changes, isCut, left, held: await states.hold(place, standing) };
}

async function keepCopy(
  blobs: BlobStore,
  { sessionId, there: { kept } }: { readonly sessionId: SessionId; readonly there: SessionBlobs },
  copy: StagedFile,
): Promise<void> {
  if (kept.has(copy.sha256)) return;
  await blobs.put(sessionKey(sessionId, 'kept', copy.sha256), copy);
  kept.set(copy.sha256, copy.bytes);
}

/** What a session may still keep. */
function roomOf({ kept }: SessionBlobs, { maxBytes, maxFiles }: KeepBounds): { take(bytes: number): boolean } {
  let [bytesLeft, filesLeft] = [maxBytes - sum(kept.values()), maxFiles - kept.size];
  return {
    take(bytes) {
      if (filesLeft < 1 || bytes > bytesLeft) return false;
      filesLeft -= 1;
      bytesLeft -= bytes;
      return true;
    },
  };
}
