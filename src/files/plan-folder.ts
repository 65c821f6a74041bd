// What there is to do for the working directory of a run to stand on this machine as it shall. Looks, and changes nothing.

import { hashOf, parseHeld, type HeldState } from './held-state.ts';
import { parseNotStored } from './not-stored.ts';
import { readBlobText, type BlobKey, type BlobStore, type WhyNotStored } from './blob-store.ts';
import { sessionKey } from './session-blobs.ts';
import type { HeldStates, RunPlace } from './held-states.ts';
import type { Mark, SessionNotes } from './session-notes.ts';

export type WhyElsewhere = WhyNotStored | 'not-stored';

export interface SettleOptions {
  /** The run whose directory it goes on with, its own session's or that it was forked from. Null: it begins with nothing. */
  readonly after: RunPlace | null;
  /** `continue`: it has begun before, here or elsewhere. `end`: it goes no further, and may not have been here. */
  readonly how: 'begin' | 'continue' | 'end';
}

/** What there is to do for a directory to stand here as it shall. */
export type Plan =
  | { readonly do: 'nothing' }
  | {
      readonly do: 'unpark';
      readonly state: HeldState;
      readonly begun: HeldState;
      readonly after: RunPlace | null;
      readonly hash: string;
    }
  /** Null: it stands so. */
  | { readonly do: 'come'; readonly after: RunPlace; readonly state: HeldState | null }
  | { readonly do: 'refuse'; readonly why: WhyElsewhere };

interface Sources {
  readonly blobs: BlobStore;
  readonly states: Pick<HeldStates, 'text'>;
  readonly notes: Pick<SessionNotes, 'mark' | 'begun'>;
}

export function parkedKey({ sessionId, runId }: RunPlace): BlobKey {
  return sessionKey(sessionId, 'parked', `${runId}.json`);
}

export async function planFolder(sources: Sources, place: RunPlace, { after, how }: SettleOptions): Promise<Plan> {
  const { blobs, states, notes } = sources;
  const mark = await notes.mark(place.sessionId);
  const parked = how === 'begin' ? null : await readBlobText(blobs, parkedKey(place));
  if (parked !== null) return hashOf(parked) === mark.parked ? asItIs : planToUnpark(parked, after);
  if (after === null || mark.after === after.runId) return asItIs;
  if (how !== 'begin' && (await notes.begun(place)) !== null) return asItIs;
  const left = await states.text(after);
  const isHere = left === null ? await stayedHere(sources, after, mark) : hashOf(left) === mark.left;
  const state = parseHeld(left);
  if (isHere) return { do: 'come', after, state: null };
  return state === null ? refuse(left) : { do: 'come', after, state };
}

/** Whoever ended the run could not look at its directory: it stands where it stayed. */
async function stayedHere({ blobs }: Sources, after: RunPlace, mark: Mark): Promise<boolean> {
  const parked = await readBlobText(blobs, parkedKey(after));
  return parked !== null && parseNotStored(parked) !== null && hashOf(parked) === mark.parked;
}

const asItIs = { do: 'nothing' } as const;

function planToUnpark(parked: string, after: RunPlace | null): Plan {
  const [state, begun] = parked.split('\n').map(parseHeld);
  return state && begun ? { do: 'unpark', state, begun, after, hash: hashOf(parked) } : refuse(parked);
}

/** @param said  In the place of the state, if anything is. */
function refuse(said: string | null): Plan {
  return { do: 'refuse', why: parseNotStored(said)?.notStored ?? 'not-stored' };
}
