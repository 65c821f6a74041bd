// What starts a task, stored in one transaction, and what can come of it.

import type { FileId, HarnessId, RunId, SessionId } from '../core/ids.ts';
import type { CapReached, DayQuota, QuotaReached, TaskCaps } from './principal-store.ts';
import type { SessionHistory } from './session-store.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { UnnumberedEvent, RunRecord } from './store.ts';

export interface IdempotencyClaim {
  readonly key: string;
  /** Hash of the canonical body, without `stream` and `background` (UD-11). */
  readonly bodyHash: string;
}

/** Everything that starts a task, stored in one transaction (E-050). */
export interface Admission {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly principal: string;
  /** Absent: the session must exist and be free; present: it is made, unless another task has made it meanwhile. */
  readonly newSession?: {
    readonly title: string;
    /** The conversation it begins with, of its own: the session that it was taken from may go, once it is admitted (UD-28). */
    readonly fork?: { readonly from: RunId; readonly history: SessionHistory; readonly contents: readonly string[] };
  };
  /** Refused as `limited` where the principal has as many tasks at work, or begun within a minute (UR-53). */
  readonly caps?: TaskCaps;
  /** Refused as `exhausted` where the principal has spent all of one of them (UR-53). */
  readonly quota?: DayQuota;
  /** The tip the caller continues: checked inside the transaction, so that two tasks never both follow one (B106). */
  readonly previousRunId: RunId | null;
  readonly store: boolean;
  readonly parentRunId?: RunId;
  /** Uploads that it is given by name: they are kept until it has ended. */
  readonly uploads?: readonly FileId[];
  /** The waiting entry that this run starts: marked as started in the same transaction; refused as `not-queued` without. */
  readonly queued?: { readonly messageId: string };
  readonly owner: string;
  readonly idempotency?: IdempotencyClaim;
  readonly events: readonly UnnumberedEvent[];
  readonly atMs: number;
}

export type AdmitResult =
  | { readonly outcome: 'admitted'; readonly run: RunRecord; readonly events: readonly RunEvent[] }
  /** The key was used before: nothing was started. */
  | { readonly outcome: 'replayed'; readonly runId: RunId; readonly sameBody: boolean }
  | { readonly outcome: 'busy'; readonly runningRunId: RunId }
  | { readonly outcome: 'not-tip'; readonly tip: RunId | null }
  /** There is none, or none any more: the session, or the response that is forked. */
  | { readonly outcome: 'no-session' }
  /** The same, past its retention (UD-61). */
  | { readonly outcome: 'expired' }
  /** Whom it was to work for has ended, or shall stop (E-813). */
  | { readonly outcome: 'parent-over' }
  | ({ readonly outcome: 'limited' } & CapReached)
  | ({ readonly outcome: 'exhausted' } & QuotaReached)
  | { readonly outcome: 'not-queued' };
