import { dirname, join } from 'node:path';
import { eachOf } from './each-of.ts';
import { mayBeArtifact, readEntry, type FileEntry, type WorkspaceState } from './workspace-state.ts';
import type { HeldEntry, HeldFile, HeldState } from './held-state.ts';

export type FileChange =
  | { readonly kind: 'create' | 'modify'; readonly path: string; readonly bytes: number; readonly sha256: string }
  | { readonly kind: 'delete'; readonly path: string };

export interface Comparison {
  readonly root: string;
  readonly now: WorkspaceState;
  readonly begun: HeldState;
  /** That of now; what is kept is noted in it. */
  readonly state: Map<string, HeldEntry>;
  /** Null: there is no room, or it has changed. */
  readonly keep: (path: string, entry: FileEntry) => Promise<HeldFile | null>;
}

/** What is new in a working directory since a run began, its bytes kept; and what has gone. */
export async function keepChanges({ root, now, begun, state, keep }: Comparison): Promise<{
  readonly changes: readonly FileChange[];
  /** Paths of what is new and could not be kept. */
  readonly missed: readonly string[];
}> {
  const changes: FileChange[] = [];
  const missed: string[] = [];
  const keepNow = async (path: string, entry: FileEntry) => {
    const kept = await keep(path, entry);
    if (kept !== null) return kept;
    // It was written to just then, and is tried once more as it is now.
    const again = await readEntry(join(root, path));
    return again === null || again.stamp === entry.stamp ? null : keep(path, again);
  };
  const candidates = [...now.entries].filter(([path, entry]) => mayBeArtifact(path) && isNew(entry, begun.get(path)));
  await eachOf(candidates, async ([path, entry]) => {
    const kept = entry.kind === 'file' ? await keepNow(path, entry) : null;
    if (kept === null) return void missed.push(path);
    state.set(path, kept);
    const { bytes, sha256 } = kept;
    const old = begun.get(path);
    if (old?.kind === 'file' && old.sha256 === sha256) return;
    changes.push({ kind: old?.kind === 'file' ? 'modify' : 'create', path, bytes, sha256: sha256 ?? '' });
  });
  const passed = new Set(now.skipped);
  for (const [path, { kind }] of begun) {
    const isThere = now.entries.get(path)?.kind === 'file' || isBelow(path, passed) || now.extent === 'part';
    if (kind === 'file' && mayBeArtifact(path) && !isThere) changes.push({ kind: 'delete', path });
  }
  return { changes: changes.toSorted((a, b) => (a.path < b.path ? -1 : 1)), missed: missed.toSorted() };
}

function isNew(entry: HeldEntry | FileEntry, old: HeldEntry | undefined): boolean {
  switch (entry.kind) {
    case 'folder':
      return false;
    case 'link':
      return old?.kind !== 'link' || old.target !== entry.target;
    case 'file':
      return old?.kind !== 'file' || old.stamp !== entry.stamp;
  }
}

function isBelow(path: string, folders: ReadonlySet<string>): boolean {
  for (let each = path; each !== '.'; each = dirname(each)) if (folders.has(each)) return true;
  return folders.has('.');
}
