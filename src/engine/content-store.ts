import type { ContentRef } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';

/** Where bytes live that are too large for the log, or are no text (E-105). Structurally a part of every store. */
export interface ContentStore {
  /** The same bytes always have the same reference. They are kept as long as the run is. */
  putContent(runId: RunId, bytes: Uint8Array): Promise<ContentRef>;
  /** Null: there is none. */
  content(ref: string): Promise<Uint8Array | null>;
}
