import { blobKey, type BlobKey, type BlobStore, type BlobSum } from './blob-store.ts';
import type { SessionId } from '../core/ids.ts';

/** What the store of files has of a session, by name below its folder. */
export interface SessionBlobs {
  /** Sizes by hash. */
  readonly kept: Map<string, number>;
  readonly held: Map<string, number>;
  /** When each was written. */
  readonly states: Map<string, number>;
  readonly parked: Map<string, number>;
  /** Names right in its folder. */
  readonly others: Set<string>;
}

export function sessionKey(sessionId: SessionId, ...names: readonly string[]): BlobKey {
  return blobKey('files', sessionId, ...names);
}

export async function listSession(blobs: BlobStore, sessionId: SessionId): Promise<SessionBlobs> {
  const found: SessionBlobs = {
    kept: new Map(),
    held: new Map(),
    states: new Map(),
    parked: new Map(),
    others: new Set(),
  };
  for await (const { key, bytes, writtenAtMs } of blobs.list(sessionKey(sessionId))) {
    const [folder = '', name] = key.split('/').slice(2);
    if (name === undefined) found.others.add(folder);
    else if (folder === 'kept' || folder === 'held') found[folder].set(name, bytes);
    else if (folder === 'states' || folder === 'parked') found[folder].set(name, writtenAtMs);
  }
  return found;
}

/** Makes a file of the bytes that a state names, where they are. */
export function copierOf(blobs: BlobStore, sessionId: SessionId, there: SessionBlobs) {
  return (to: string, sum: BlobSum): Promise<boolean> =>
    blobs.copyTo(to, sessionKey(sessionId, there.kept.has(sum.sha256) ? 'kept' : 'held', sum.sha256), sum);
}
