// The store contract: what a durable place must offer so that runs survive. Every implementation passes the one suite in
// `testing/store-contract.ts`, crash points included.
//
// L1. `seq` of a run is 1, 2, 3 … without holes, given inside the append (E-100).
// L2. A commit is one transaction: after a crash each of its entries is whole or absent, and an entry that `append`
//     reported as stored is never lost.
// L3. One entry's refusal (wrong position, lost lease) changes nothing and does not touch the other entries of its batch.
// L4. What ends a run, frees its session and stores its response is the transaction that appends its `run-result` (UD-21).
// L5. Reads never see half a transaction. An id of another principal reads as absent (U-043).

import type { HarnessId, RunId, SessionId } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import type { FinalStatus } from '../core/outcome.ts';
import type { RunEvent } from '../core/run-event.ts';

/** A stamped event that has no number yet: the append gives it. */
export type UnnumberedEvent = RunEvent extends infer E ? (E extends RunEvent ? Omit<E, 'seq'> : never) : never;

export interface RunRecord {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly principal: string;
  /** Order inside the session, 1 for the first task. */
  readonly turn: number;
  readonly previousRunId: RunId | null;
  readonly status: 'running' | FinalStatus;
  readonly store: boolean;
  /** The record is unreadable for clients, the run and its session's conversation go on (UD-08). */
  readonly deleted: boolean;
  readonly lastSeq: number;
  /** Rises with each owner; an append with an older one is refused (E-801). */
  readonly generation: number;
  readonly owner: string | null;
  /** The one piece of state outside the log (E-812). */
  readonly control: 'none' | 'cancel';
  readonly createdAtMs: number;
  readonly endedAtMs: number | null;
  /** The stored response: the view's fold of the whole log, kept so that a read need not fold again. Null while running. */
  readonly response: JsonObject | null;
}

/** What a scan over all open runs is told: little enough to be asked for each second. */
export type UnfinishedRun = Pick<RunRecord, 'runId' | 'harnessId' | 'owner' | 'control' | 'createdAtMs'>;

export interface SessionRecord {
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly principal: string;
  readonly title: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The run that holds the session now. */
  readonly runningRunId: RunId | null;
  readonly expiredAtMs: number | null;
}

export interface HarnessRecord {
  readonly harnessId: HarnessId;
  readonly principal: string;
  readonly name: string;
  readonly base: string;
  readonly defaultModel: string | null;
  readonly systemPrompt: string | null;
  readonly disabledTools: readonly string[];
  readonly maxStep: number | null;
  readonly timeoutSeconds: number | null;
  readonly createdAtMs: number;
  readonly deleted: boolean;
}

export interface KeyRecord {
  readonly keyId: string;
  readonly principal: string;
  /** SHA-256 of the key, hex. The key itself is never stored (UD-69). */
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
}

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
  /** Absent: the session must exist and be free; present: it is made. */
  readonly newSession?: { readonly title: string };
  /** The tip the caller continues: checked inside the transaction, so that two tasks never both follow one (B106). */
  readonly previousRunId: RunId | null;
  readonly store: boolean;
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
  | { readonly outcome: 'no-session' };

export interface Append {
  readonly runId: RunId;
  readonly generation: number;
  /** The position the writer believes in: the append is refused unless the log ends exactly there. */
  readonly after: number;
  readonly events: readonly UnnumberedEvent[];
  /** Present exactly when the last event is a final `run-result` (L4). */
  readonly end?: {
    readonly status: FinalStatus;
    readonly response: JsonObject | null;
    readonly atMs: number;
  };
}

export type AppendResult =
  | { readonly outcome: 'stored'; readonly events: readonly RunEvent[] }
  | { readonly outcome: 'wrong-position'; readonly lastSeq: number }
  | { readonly outcome: 'lease-lost' };

export interface EventRange {
  readonly after: number;
  readonly limit: number;
  readonly committedOnly?: true;
}

/** Records are read one by one: a damaged one is a StorageError for who asks for it, and is left out of lists (E-804). */
export interface Store extends AsyncDisposable {
  admit(admission: Admission): Promise<AdmitResult>;
  /**
   * Stores all entries in one transaction and answers each, in order (L2, L3).
   * `durable` asks for a full sync before the answer; without it a power cut, but no crash, may lose the batch (E-802).
   * An entry for a run that has ended, or is unknown, is `lease-lost`.
   * @throws StorageError  Nothing of the batch is stored.
   */
  append(batch: readonly Append[], options: { readonly durable: boolean }): Promise<readonly AppendResult[]>;
  /**
   * Events of one run with `seq > after` in order, at most about `limit` (always at least one where there is one).
   * `committedOnly` leaves live events out.
   * @throws StorageError  The next event is damaged; what stands before it was given by the read before (E-804).
   */
  readEvents(runId: RunId, range: EventRange): Promise<readonly RunEvent[]>;

  run(runId: RunId): Promise<RunRecord | null>;
  /** Runs without a final status, oldest first. */
  unfinishedRuns(): Promise<readonly UnfinishedRun[]>;
  /** The newest run of a session that is not deleted: what can be continued (UD-28). */
  tip(sessionId: SessionId): Promise<RunId | null>;
  /** All runs of a session by turn, deleted ones included. */
  runIdsOfSession(sessionId: SessionId): Promise<readonly { readonly runId: RunId; readonly turn: number }[]>;
  /** Sets the flag if the run is not final, and gives the record as it then is; null for an unknown id. */
  requestCancel(runId: RunId): Promise<RunRecord | null>;
  /** Makes `owner` the owner under a new generation, or null when the run is final or unknown. */
  takeOver(runId: RunId, owner: string): Promise<RunRecord | null>;
  /** The owner lets go of a run that it leaves unended, for whoever comes next. Does nothing for another's run. */
  release(runId: RunId, owner: string): Promise<void>;
  /** Hides the response from reads and frees its stored body; a running task goes on (UD-08). */
  deleteResponse(runId: RunId): Promise<void>;
  /** Number of takeovers since `sinceMs`, this one included. Committed before anything that can throw (E-832). */
  countTakeover(runId: RunId, at: { readonly nowMs: number; readonly sinceMs: number }): Promise<number>;

  session(sessionId: SessionId): Promise<SessionRecord | null>;
  expireSessions(before: { readonly updatedBeforeMs: number; readonly nowMs: number }): Promise<readonly SessionId[]>;

  harness(harnessId: HarnessId): Promise<HarnessRecord | null>;
  /** Harnesses of a principal that are not deleted, oldest first. */
  harnesses(principal: string): Promise<readonly HarnessRecord[]>;
  putHarness(record: HarnessRecord): Promise<void>;

  keyByHash(hash: string): Promise<KeyRecord | null>;
  keys(): Promise<readonly KeyRecord[]>;
  putKey(record: KeyRecord): Promise<void>;

  idempotency(principal: string, key: string): Promise<{ readonly runId: RunId; readonly bodyHash: string } | null>;
  /**
   * Forgets keys and removes live events of runs that ended before `endedBeforeMs` (UD-14, UD-62). Works in pieces too
   * short to hold anybody up; once the signal aborts it stops between two of them, and the next call goes on. The fold of
   * a log is the same before, after and in between (E-845). Gives what is done for good.
   */
  prune(due: {
    readonly endedBeforeMs: number;
    readonly signal?: AbortSignal;
  }): Promise<{ readonly keys: number; readonly runs: number }>;
  /** Whether `prune` has begun to remove live events of a run. */
  isPruned(runId: RunId): Promise<boolean>;
}
