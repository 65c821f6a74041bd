import type { Spent, TaskEvent, UhpResponse } from './wire.ts';
import type { TurnId } from './row.ts';

/** A turn that is over, as the server has it. */
export interface StoredTurn {
  /** The response's id. */
  readonly id: TurnId;
  readonly user: string;
  readonly startedMs: number;
  /** Absent: it is not told. */
  readonly tookMs?: number;
  readonly source:
    /** Its own events are in it: it was followed with `reinsEvents`. */
    | { readonly kind: 'log'; readonly events: readonly TaskEvent[] }
    /** It finished and called nothing: what it said is all that there is to show. */
    | { readonly kind: 'answer'; readonly text: string; readonly spent: Spent }
    /** Its log is kept no more, or is very long. */
    | { readonly kind: 'response'; readonly response: UhpResponse };
}
