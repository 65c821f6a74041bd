import type { ModelRef } from './outcome.ts';

/** A model as a list shows it. */
export interface ModelListing {
  /** Canonical id (UD-84). */
  readonly id: string;
  readonly label: string;
  /** Computed from credentials, never asserted (U-143). */
  readonly available: boolean;
  /** One sentence: what decided `available`. */
  readonly why: string;
}

/** A model a task asked for, found or not. `id` is the name that responses carry (UD-84). */
export type ModelChoice =
  | { readonly available: true; readonly id: string; readonly ref: ModelRef }
  | { readonly available: false; readonly id: string; readonly why: string };
