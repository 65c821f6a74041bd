import type { TaskEvent, UhpResponse } from './wire.ts';
import type { TurnId } from './row.ts';

/** A turn that is over, as the server has it. */
export interface StoredTurn {
  /** The response's id. */
  readonly id: TurnId;
  readonly user: string;
  readonly startedMs: number;
  readonly source:
    /** Its own events are in it: it was followed with `reinsEvents`. */
    | { readonly kind: 'log'; readonly events: readonly TaskEvent[] }
    /** Its log is kept no more. */
    | { readonly kind: 'response'; readonly response: UhpResponse };
}
