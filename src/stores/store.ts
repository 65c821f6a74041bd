// The store contract: what a durable place must offer so that runs survive. Every implementation passes the one suite in
// `testing/store-contract.ts`, crash points included.
//
// L1. `seq` of a run is 1, 2, 3 … without holes, given inside the append (E-100).
// L2. A commit is one transaction: after a crash each of its entries is whole or absent, and an entry that `append`
//     reported as stored is never lost.
// L3. One entry's refusal (wrong position, lost lease) changes nothing and does not touch the other entries of its batch.
// L4. What ends a run, frees its session and stores its response is the transaction that appends its `run-result` (UD-21).
//     What waits behind a run that did not complete is held in it (E-664), what was left open is closed as `cancelled`, and
//     what works for it shall stop (E-817).
// L5. Reads never see half a transaction. An id of another principal reads as absent (U-043).
// L6. What the events say of people is indexed in the transaction that appends them: a request opens an approval, a
//     decision closes it, a `run-result` that ends nothing parks the run and frees its owner. The indexes can be made again
//     from the logs (E-002); `approval-decided` never enters a log twice for one approval (E-602).
// L7. A fact from outside (`user-message`, `approval-decided`) is appended by any process, without owning the run (E-801).

import type { Admission, AdmitResult } from './admission.ts';
import type { HarnessRecord, Bundle } from './harness-record.ts';
import type { ApprovalId, HarnessId, RuleId, RunId, SessionId } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import type { FileStore } from './file-store.ts';
import type { FinalStatus, ModelRef } from '../core/outcome.ts';
import type { PrincipalStore, Spending } from './principal-store.ts';
import type { SessionHistory, SessionStore } from './session-store.ts';
import type { WebhookStore } from './webhook-store.ts';
export type { KeyRecord } from './principal-store.ts';
import type { ApprovalDecided, ContentRef, PendingTool, RunEvent } from '../core/run-event.ts';

/** A stamped event that has no number yet: the append gives it. */
export type UnnumberedEvent = RunEvent extends infer E ? (E extends RunEvent ? Omit<E, 'seq'> : never) : never;

export type RunPhase = 'active' | 'waiting' | 'paused';

export interface RunRecord {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly principal: string;
  /** Order inside the session, 1 for the first task. */
  readonly turn: number;
  readonly previousRunId: RunId | null;
  readonly status: 'running' | FinalStatus;
  /** `waiting` for a person, `paused` until it is resumed, else somebody's to work on. */
  readonly phase: RunPhase;
  /** The run that this one works for; it is no task of its own and stays out of lists (E-905). */
  readonly parentRunId: RunId | null;
  readonly store: boolean;
  /** The record is unreadable for clients, the run and its session's conversation go on (UD-08). */
  readonly deleted: boolean;
  readonly lastSeq: number;
  /** Rises with each owner; an append with an older one is refused (E-801). */
  readonly generation: number;
  readonly owner: string | null;
  /** The one piece of state outside the log (E-812). */
  readonly control: 'none' | 'pause' | 'cancel';
  readonly createdAtMs: number;
  readonly endedAtMs: number | null;
  /** The stored response: the view's fold of the whole log, kept so that a read need not fold again. Null while running. */
  readonly response: JsonObject | null;
}

/** What a scan over all open runs is told: little enough to be asked for each second. */
export type UnfinishedRun = Pick<
  RunRecord,
  'runId' | 'harnessId' | 'owner' | 'control' | 'phase' | 'createdAtMs' | 'lastSeq' | 'generation'
> & {
  /** Approvals of the run that are still open: a `waiting` run without any goes on (E-601). */
  readonly openApprovals: number;
};

/** A request to a person, and what was said (E-600, E-613). */
export interface ApprovalRecord {
  readonly approvalId: ApprovalId;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly principal: string;
  /** As it was asked; `status` is the one of now. */
  readonly pending: PendingTool;
  readonly decided: (ApprovalDecided & { readonly atMs: number }) | null;
}

export interface ApprovalFilter {
  readonly principal: string;
  /** Absent: of all runs that work for nobody else; these ask again for what theirs ask (E-612). */
  readonly runId?: RunId;
  readonly sessionId?: SessionId;
  readonly kind?: PendingTool['kind'];
  /** `open`: pending and uncertain. */
  readonly status: PendingTool['status'] | 'open' | 'all';
  /** Newest first; those that come after this one in that order. */
  readonly after?: ApprovalId;
  readonly limit: number;
}

/** A remembered decision (E-609). */
export interface RuleRecord {
  readonly ruleId: RuleId;
  readonly principal: string;
  readonly harnessId: HarnessId;
  readonly scope: 'run' | 'session' | 'agent';
  readonly match: 'tool' | 'exact-args' | { readonly pathPrefix: string };
  readonly toolName: string;
  /** Of the decided call, for `exact-args`. */
  readonly argsDigest: string;
  /** Of the decided call's tool (E-903); absent: it is ours. */
  readonly toolIdentity?: string;
  readonly effect: 'allow' | 'deny';
  readonly sessionId: SessionId;
  readonly runId: RunId;
  readonly by: string;
  readonly createdAtMs: number;
}

/** A follow-up that waits for its session (E-664). */
export interface QueuedTask {
  /** The caller's own or made; unique in its session. */
  readonly messageId: string;
  readonly sessionId: SessionId;
  readonly principal: string;
  readonly body: JsonObject;
  readonly bodyHash: string;
  readonly status: 'queued' | 'started';
  /** Once started. */
  readonly runId: RunId | null;
}

export type AppendFactsResult =
  | { readonly outcome: 'stored'; readonly events: readonly RunEvent[] }
  /** A message with that id is in the log already, with the same content. */
  | { readonly outcome: 'known' }
  /** A message with that id is in the log already and says something else. */
  | { readonly outcome: 'conflict' }
  /** The run has ended, or it, or what is decided, is unknown: nothing enters its log (E-661). */
  | { readonly outcome: 'ended' }
  /** The approval is decided already, if only by the end of its run; nothing was stored. */
  | { readonly outcome: 'decided'; readonly approval: ApprovalRecord };

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
  /** The response it was forked from (UD-28). */
  readonly forkedFrom: RunId | null;
}

/** A run that ended somewhere else, with its whole log (P-060). */
export interface EndedRun {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly principal: string;
  /** Of its session, where it is the first one there. */
  readonly title: string;
  /** As in an admission: the tip of its session, so that turns stand in the order in which they were taken. */
  readonly previousRunId: RunId | null;
  /** As they are numbered, holes of live events that retention took included: then the run counts as pruned (E-845). */
  readonly events: readonly RunEvent[];
  readonly status: FinalStatus;
  readonly response: JsonObject | null;
  /** When it came here: what is kept for a time is kept from then on. */
  readonly atMs: number;
}

export interface RunHead {
  readonly runId: RunId;
  readonly lastSeq: number;
  /** The run has ended: nothing comes behind. */
  readonly isOver: boolean;
}

/** How the way to a database is, for who watches over it. */
export interface StoreFigures {
  readonly connections: { readonly open: number; readonly used: number };
  /** Pieces of work that wait for one. */
  readonly waiting: number;
  /** Whether others are heard of at this moment; null: they are not to be. */
  readonly isListening: boolean | null;
}

/** A process that has runs, or may come to have some (E-826). */
export interface OwnerRecord {
  /** The name under which it owns runs; never used again. */
  readonly owner: string;
  /** Where its pid means something: no two processes there have one at the same time. */
  readonly place: string;
  readonly pid: number;
  /** Tells it from a later process of the same pid; null where the system does not tell. */
  readonly startTicks: number | null;
  /** When it last said that it lives. */
  readonly seenAtMs: number;
}

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
    /** What its principal is charged with: what is known. Absent: nothing. */
    readonly spent?: Pick<Partial<Spending>, 'tokens' | 'dollars'>;
  };
}

export type AppendResult =
  | { readonly outcome: 'stored'; readonly events: readonly RunEvent[] }
  | { readonly outcome: 'wrong-position'; readonly lastSeq: number }
  | { readonly outcome: 'lease-lost' };

export type EnqueueResult =
  | { readonly outcome: 'queued'; readonly position: number }
  | { readonly outcome: 'known'; readonly task: QueuedTask }
  | { readonly outcome: 'full' }
  /** The session is deleted or expired; nothing was stored. */
  | { readonly outcome: 'no-session' };

export interface FactFromOutside {
  readonly event: Extract<UnnumberedEvent, { type: 'user-message' | 'approval-decided' }>;
  readonly rule?: RuleRecord;
}

export interface ModelBlock {
  readonly ref: ModelRef;
  readonly untilMs: number;
}

export interface EventRange {
  readonly after: number;
  readonly limit: number;
  readonly committedOnly?: true;
}

/** A reader of a run's log, and the last event that it has. */
export interface LogCursor {
  readonly runId: RunId;
  readonly after: number;
}

/** A run whose log is as long now, or null: of any of them more may be there. */
export type NewsListener = (runId: RunId | null, lastSeq: number) => void;

/** Records are read one by one: a damaged one is a StorageError for who asks for it, and is left out of lists (E-804). */
export interface Store extends AsyncDisposable, FileStore, SessionStore, PrincipalStore, WebhookStore {
  admit(admission: Admission): Promise<AdmitResult>;
  /**
   * Stores all entries in one transaction and answers each, in order (L2, L3).
   * `durable` asks for a full sync before the answer; without it a power cut, but no crash, may lose the batch (E-802).
   * An entry for a run that has ended, is parked, or is unknown, is `lease-lost`; but from its own generation `wrong-position`
   * where the log goes on behind `after`: an ending that is stored already is found by who was not told.
   * @throws RefusedEntryError  One of them cannot be stored at all, which the others do not learn. Nothing of the batch is stored.
   * @throws StorageError  Nothing of the batch is stored.
   */
  append(batch: readonly Append[], options: { readonly durable: boolean }): Promise<readonly AppendResult[]>;
  /**
   * Events of one run with `seq > after` in order, at most about `limit` (always at least one where there is one).
   * `committedOnly` leaves live events out.
   * @throws StorageError  The next event is damaged; what stands before it was given by the read before (E-804).
   */
  readEvents(runId: RunId, range: EventRange): Promise<readonly RunEvent[]>;
  /**
   * The same for many readers at once, each of which lacks little. For any of them it may give less than there is, or nothing, where
   * `readEvents` gives more, or throws. Absent where several reads cost no more than one.
   */
  readonly readTails?: (cursors: readonly LogCursor[]) => Promise<readonly (readonly RunEvent[])[]>;

  /**
   * Appends a fact from outside where the log ends, whoever owns the run (L7), with the rule that a decision makes.
   * The owner's next append is `wrong-position`: it reads what came in and goes on behind it. What is in the log already
   * is answered as that, also after the end: an id that was used holds as long as an idempotency key.
   */
  appendFact(fact: FactFromOutside): Promise<AppendFactsResult>;

  /**
   * Keeps runs as they are, all in one transaction: nobody works on them, is asked by them, told of them, or charged for them.
   * Gives for each whether it is new: one that is here already, or was deleted here, stays as it is.
   * @throws NotKeptError  One of them does not fit to what is here; none is kept.
   */
  keepEnded(runs: readonly EndedRun[]): Promise<readonly boolean[]>;

  run(runId: RunId): Promise<RunRecord | null>;
  /** Where the logs of these runs end; one that is not there, or whose session is deleted (U-370), is left out. */
  heads(runIds: readonly RunId[]): Promise<readonly RunHead[]>;
  /** Runs without a final status, oldest first. */
  unfinishedRuns(): Promise<readonly UnfinishedRun[]>;
  /** The newest run of a session that is not deleted: what can be continued (UD-28). */
  tip(sessionId: SessionId): Promise<RunId | null>;
  /** All runs of a session by turn, deleted ones included. */
  runIdsOfSession(sessionId: SessionId): Promise<readonly { readonly runId: RunId; readonly turn: number }[]>;
  /** Sets the flag of a run that is not final, and of all that work for it; gives its record as it then is; null for an unknown id. */
  requestCancel(runId: RunId): Promise<RunRecord | null>;
  /** The same for a pause; a cancel that was asked for stays one (E-812). */
  requestPause(runId: RunId): Promise<RunRecord | null>;
  /**
   * Makes `owner` the owner under a new generation, the phase `active` and a pause, of all that work for it too, undone; null when the run is final or
   * unknown, or not as `from` says (absent: however it is): so of many who have seen the same one takes it (E-825). Who names
   * the generation is refused also where another has had it since and let it go.
   */
  takeOver(
    runId: RunId,
    owner: string,
    from?: Partial<Pick<RunRecord, 'phase' | 'owner' | 'control' | 'generation'>>,
  ): Promise<RunRecord | null>;
  /** The owner lets go of a run that it leaves unended, for whoever comes next. Does nothing for another's run. */
  release(runId: RunId, owner: string): Promise<void>;
  /** Hides the response from reads and frees its stored body; a running task goes on (UD-08). */
  deleteResponse(runId: RunId): Promise<void>;
  /** Number of takeovers since `sinceMs`, this one included. Committed before anything that can throw (E-832). */
  countTakeover(runId: RunId, at: { readonly nowMs: number; readonly sinceMs: number }): Promise<number>;

  /** Says that a process is there, or is there still. */
  putOwner(record: OwnerRecord): Promise<void>;
  owners(): Promise<readonly OwnerRecord[]>;
  /** Does nothing where it has said since that it lives. */
  removeOwner(seen: Pick<OwnerRecord, 'owner' | 'seenAtMs'>): Promise<void>;

  approval(approvalId: ApprovalId): Promise<ApprovalRecord | null>;
  approvals(filter: ApprovalFilter): Promise<readonly ApprovalRecord[]>;
  /** Open approvals that were due before, oldest first (E-606); of runs that work for nobody else, as in a list. */
  dueApprovals(nowMs: number): Promise<readonly ApprovalRecord[]>;
  putRule(rule: RuleRecord): Promise<void>;
  rule(ruleId: RuleId): Promise<RuleRecord | null>;
  /** Rules of a principal, newest first. */
  rules(filter: { readonly principal: string; readonly sessionId?: SessionId }): Promise<readonly RuleRecord[]>;
  /** False when there is none. */
  deleteRule(ruleId: RuleId): Promise<boolean>;

  /**
   * At most `most` entries that have not ended wait in a session (UR-21). `known`: the id is used; nothing was stored.
   * `uploads`: what it names is kept until it is started, or taken back.
   */
  enqueue(
    task: Omit<QueuedTask, 'status' | 'runId'> & Pick<Admission, 'uploads'>,
    most: number,
  ): Promise<EnqueueResult>;
  /** Entries of a session in order: those that wait, and the one whose run is at work (UR-32). */
  queue(sessionId: SessionId): Promise<{ readonly tasks: readonly QueuedTask[]; readonly held: boolean }>;
  /** False when there is none that waits. */
  unqueue(sessionId: SessionId, messageId: string): Promise<boolean>;
  holdQueue(sessionId: SessionId, held: boolean): Promise<void>;
  /** The oldest waiting entry of each session that is free and not held. */
  startableTasks(): Promise<readonly QueuedTask[]>;
  /**
   * Keeps bytes as `sha256:<hex>` for as long as a run that uses them; the same bytes are kept once (E-844). The run may
   * be admitted later; where it is not, within an hour or so, they go.
   */
  putContent(runId: RunId, bytes: Uint8Array): Promise<ContentRef>;
  /** @throws StorageError  What is there is not what was stored. Null: there is none. */
  content(ref: string): Promise<Uint8Array | null>;

  /** When a provider wants its model to be asked again, whoever asks (E-215); null: at any time. */
  putModelBlock(ref: ModelRef, untilMs: number | null): Promise<void>;
  /** Those whose time has passed may be among them. */
  modelBlocks(): Promise<readonly ModelBlock[]>;

  /** Null: there is none, or it is deleted. */
  session(sessionId: SessionId): Promise<SessionRecord | null>;
  /** The conversation that a forked session began with; null: it was not forked. */
  forkHistory(sessionId: SessionId): Promise<SessionHistory | null>;
  expireSessions(before: { readonly updatedBeforeMs: number; readonly nowMs: number }): Promise<readonly SessionId[]>;

  harness(harnessId: HarnessId): Promise<HarnessRecord | null>;
  /** Harnesses of a principal that are not deleted, oldest first. */
  harnesses(principal: string): Promise<readonly HarnessRecord[]>;
  /**
   * With the bundles that it names and that were not there: in one transaction. Bundles that nobody names any more go later.
   * @param from  As it was read; absent: whatever it is. False: it has been written since, and is left so.
   */
  putHarness(record: HarnessRecord, bundles?: readonly Bundle[], from?: HarnessRecord): Promise<boolean>;
  /** Of a principal; another's reads as absent. */
  bundle(principal: string, ref: string): Promise<Bundle | null>;
  /** Of all principals. */
  bundleRefs(): Promise<readonly string[]>;

  idempotency(principal: string, key: string): Promise<{ readonly runId: RunId; readonly bodyHash: string } | null>;
  /**
   * Forgets keys and removes live events of runs that ended before `endedBeforeMs` (UD-14, UD-62). Works in pieces too
   * short to hold anybody up; once the signal aborts it stops between two of them, and the next call goes on. The fold of
   * a log is the same before, after and in between (E-845). Gives what is done for good. Frees contents and bundles that
   * nobody has named for some time, of which `nowMs` is the end.
   */
  prune(due: {
    readonly endedBeforeMs: number;
    readonly nowMs: number;
    readonly signal?: AbortSignal;
  }): Promise<{ readonly keys: number; readonly runs: number }>;
  /** Whether `prune` has begun to remove live events of a run. */
  isPruned(runId: RunId): Promise<boolean>;
  /**
   * Tells that another process has added to the log of a run, or may have added to any. A hint: it may come late, twice, or
   * not at all, or of a run that is as it was. Absent where nothing is heard of others. Gives the unsubscribe.
   */
  readonly onNews?: (listener: NewsListener) => () => void;
  /** Absent where there is no way that could be long. */
  readonly figures?: () => StoreFigures;
}
