// The one vocabulary inside Reins (E-001): harnesses produce these facts, everything else folds them.
//
// Laws
// R1. A committed event is never withdrawn. A live one (`text-delta`, `thinking-delta`, `tool-call-delta`, `tool-output-delta`, `waiting`) is
//     provisional: its attempt may be given up by `attempt-reset`.
// R2. `seq` is given by the append, 1, 2, 3 … without holes; a producer makes drafts and never numbers them (E-100).
// R3. Fields that begin with `_` are private: stored and folded, never projected (E-104).

import type { Limits, RunConfig } from './run-config.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { ApprovalId, FileId, HarnessId, RunId, SessionId } from './ids.ts';
import type { ErrorInfo, ModelRef, RunResultData, StopReason } from './outcome.ts';
import type { Question } from './questions.ts';
import type { Usage } from './usage.ts';

export type UserPart =
  | { readonly type: 'text'; readonly text: string }
  /** A text file given inline; it reaches the model as text under its name, and lies at `path` in the working directory. */
  | {
      readonly type: 'file';
      readonly filename: string;
      readonly mediaType: string;
      readonly text: string;
      readonly path?: string;
    }
  /** An image or another file: `ref` names its bytes in the content store (E-105), or as `file:<id>` a file of the server. */
  | {
      readonly type: 'media';
      readonly mediaType: string;
      readonly filename?: string;
      /** Where it lies in the working directory (UD-44); absent: nowhere. */
      readonly path?: string;
      readonly ref: string;
      readonly bytes: number;
    };

export interface UserMessage {
  readonly content: readonly UserPart[];
  readonly messageId?: string;
}

/** What the views of a server task need beside the events; written once, at admission. */
export interface TaskFacts {
  readonly harnessId: HarnessId;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The client's own keys, echoed on the response (UD-29). */
  readonly metadata: JsonObject;
  readonly ignoredFields: readonly string[];
  readonly store: boolean;
  readonly background: boolean;
  readonly previousResponseId: RunId | null;
  /** Whether the task's own stream carries `reins.*` events (UD-24). */
  readonly reinsEvents: boolean;
  /** Version of the view that this log promised. */
  readonly view: 1;
  /** Input items as the client sent them, for `input_items` (U-211). */
  readonly inputItems: readonly JsonValue[];
  /** Base of the links to artifacts, without a slash at its end; absent: of an older log, which had no links. */
  readonly linkBase?: string;
  /** The model that was asked for, where another one was taken (U-230). */
  readonly modelFallback?: { readonly requested: string; readonly reason: string };
  /** The response that this one's session was forked from (UD-28). */
  readonly forkedFrom?: RunId;
  /** Limits of the run that are what is left of its principal's quota (UR-53). */
  readonly quota?: readonly ('tokens' | 'cost')[];
}

/** The agent that a run belongs to; a run goes on only with the same name, version and digest (E-053). */
export interface AgentRef {
  readonly name: string;
  readonly version: string | null;
  /** Hash of its configuration. */
  readonly digest: string;
}

/** The run that this one works for, as a sub-agent (E-905). */
export interface ParentRun {
  readonly runId: RunId;
  readonly executionKey: string;
  readonly depth: number;
}

export interface RunStarted {
  readonly leg: number;
  readonly cause: 'submit' | 'resume' | 'decision' | 'recovery' | 'retry';
  readonly input?: readonly UserMessage[];
  readonly task?: TaskFacts;
  readonly _config?: RunConfig;
  /** That of the configuration, in a later leg: the first alone has the whole. */
  readonly _base?: string;
  readonly requestId?: string;
  /** The caller's own keys, of a run without a task. */
  readonly metadata?: JsonObject;
  readonly agent?: AgentRef;
  readonly parent?: ParentRun;
  readonly model: ModelRef;
  readonly limits: Limits;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** The arguments as the model wrote them: JSON text, not yet parsed. */
  readonly arguments: string;
}

/** One block of an accepted reply; `start` and `end` cut it out of the complete text of its kind. */
export type ReplyPart =
  | {
      readonly block: number;
      readonly kind: 'text' | 'thinking';
      readonly start: number;
      readonly end: number;
      readonly _provider?: JsonObject;
    }
  | { readonly block: number; readonly kind: 'tool-call'; readonly id: string; readonly _provider?: JsonObject };

export interface TurnComplete {
  readonly finishReason: StopReason;
  readonly rawFinishReason: string | null;
  readonly parts: readonly ReplyPart[];
  readonly calls: readonly ToolCall[];
  readonly usage: Usage | null;
  readonly usageIncomplete: boolean;
  readonly served: ModelRef | null;
  readonly empty?: boolean;
}

export type ResetReason =
  | 'transient-error'
  | 'stalled'
  | 'incomplete'
  | 'call-timeout'
  | 'context-overflow'
  | 'malformed-reply'
  | 'steered'
  | 'crash'
  /** Its process handed the run over (E-834), or the one that was to work on it is gone (E-876). */
  | 'worker-lost';

/** Why another process goes on with a run. */
export type LeftBy = 'crash' | 'worker-lost';

/** The attempt was lost with its owner, and is no failure of its own (E-213). */
export function isLostWithOwner(reason: ResetReason): boolean {
  return reason === 'crash' || reason === 'worker-lost';
}

export interface AttemptReset {
  readonly step: number;
  readonly attempt: number;
  readonly nextAttempt: number;
  readonly reason: ResetReason;
  /** True exactly if a live event of the attempt was stored. */
  readonly shown: boolean;
  readonly retryInMs: number;
  readonly error?: ErrorInfo;
  readonly usage?: Usage;
}

/** `safe` and `idempotent` calls may be run again after a crash; a `manual` one never is (E-540). */
export type ReplayPolicy = 'manual' | 'safe' | 'idempotent';

export type ToolOutcome =
  | 'ok'
  | 'error'
  | 'timeout'
  | 'invalid'
  | 'denied'
  | 'answered'
  | 'unknown'
  | 'cancelled'
  | 'not-run';

export type PendingStatus =
  | 'pending'
  | 'approved'
  | 'denied'
  | 'answered'
  | 'expired'
  | 'cancelled'
  | 'uncertain'
  | 'resolved';

/** A call that needs a person: an approval, an answer, or a word on its unknown outcome. Open: `pending`, `uncertain`. */
export interface PendingTool {
  readonly approvalId: ApprovalId;
  readonly kind: 'approval' | 'question' | 'recovery';
  readonly executionKey: string;
  /** The run whose call it is: a sub-agent's has its own. */
  readonly runId: RunId;
  readonly step: number;
  readonly agentPath?: readonly string[];
  readonly call: { readonly id: string; readonly name: string; readonly input: JsonValue };
  readonly argsDigest: string;
  readonly replay: ReplayPolicy;
  readonly toolAttempt: number;
  readonly status: PendingStatus;
  readonly requestedAtMs: number;
  readonly expiresAtMs: number | null;
  readonly reason?: string;
  readonly questions?: readonly Question[];
  /** Of a tool that is not ours, what it was when this was asked: what is said of it holds for that alone (E-903). */
  readonly toolIdentity?: string;
  /** What the call has used so far, where it tells; it is the run's. */
  readonly usage?: Usage;
}

/** What was said of a pending call. `expired` and `cancelled` are the engine's own words (E-604). */
export type ApprovalWord =
  | 'approve'
  | 'deny'
  | 'answer'
  | 'decline'
  | 'result'
  | 'retry'
  | 'abort'
  | 'expired'
  | 'cancelled';

export interface ApprovalDecided {
  readonly approvalId: ApprovalId;
  readonly executionKey: string;
  readonly kind: PendingTool['kind'];
  readonly decision: ApprovalWord;
  /** A principal, `rule:<id>`, or `engine`. */
  readonly by: string;
  readonly note?: string;
  readonly ruleId?: string;
  /** What the model reads, for an answered question or a known result. */
  readonly output?: { readonly content: string; readonly isError: boolean };
}

export interface Todo {
  readonly content: string;
  readonly status: 'pending' | 'in_progress' | 'completed';
}

/** Bytes in the content store. */
export interface ContentRef {
  readonly ref: string;
  readonly bytes: number;
}

export interface MediaRef extends ContentRef {
  readonly mediaType: string;
}

export interface BudgetReached {
  readonly budget: 'steps' | 'tool-rounds' | 'cost' | 'tokens' | 'output-tokens' | 'time' | 'loop';
  readonly limit: number;
  readonly used: number;
  readonly then: 'final-answer' | 'stop' | 'fail';
}

/** Payload of each event type, and when it is written: `spec` chapter 2.2 of the engine. */
export interface EventData {
  'run-started': RunStarted;
  'user-message': {
    readonly messageId: string;
    readonly content: readonly UserPart[];
    readonly mode: 'steer' | 'engine';
    readonly purpose?: string;
  };
  'step-started': {
    readonly purpose: 'reply' | 'continuation' | 'final-answer';
    readonly continues?: number;
    readonly model: ModelRef;
    /** Output tokens the reply may have; null = the model's own limit. */
    readonly replyBudget: number | null;
    /** Size of the request as the engine reckons it; absent where it does not. */
    readonly tokensEstimated?: number;
    /** What is missing or left over, as `mcp:<name>` or `process:<name>`. */
    readonly degraded?: readonly string[];
  };
  'text-delta': string;
  'thinking-delta': string;
  'tool-call-delta': { readonly id: string; readonly name: string; readonly partialJson: string };
  'thinking-complete': string;
  'text-complete': string;
  'turn-complete': TurnComplete;
  'attempt-reset': AttemptReset;
  'model-switched': {
    readonly kind: 'failover' | 'reported';
    readonly from: ModelRef;
    readonly to: ModelRef;
    readonly reason: string;
  };
  waiting: {
    readonly on: 'model' | 'retry' | 'tool' | 'capacity';
    /** Waited so far in this wait, one decimal. */
    readonly seconds: number;
    readonly name?: string;
    /** In the line for a process, from 1; only on `capacity`. */
    readonly position?: number;
    /** Age of the newest byte from upstream, or from a foreign runtime, pings included (E-302, B147). */
    readonly lastByteMs?: number;
  };
  'tool-call-start': {
    readonly id: string;
    readonly name: string;
    readonly input: JsonValue;
    readonly executionKey: string;
    readonly willRun: boolean;
  };
  'tool-dispatched': {
    readonly id: string;
    readonly executionKey: string;
    readonly toolAttempt: number;
    readonly argsDigest: string;
    readonly replay: ReplayPolicy;
    readonly timeoutMs: number | null;
    /** `policy`, `rule:<id>`, `approval:<id>`, `callback`, or `harness` (E-524). */
    readonly authority: string;
    readonly childRunId?: RunId;
  };
  /** Our own: output of a tool that still works. What the model reads comes with `tool-result`. */
  'tool-output-delta': { readonly id: string; readonly name: string; readonly text: string };
  'tool-call-complete': {
    readonly id: string;
    readonly name: string;
    readonly input: JsonValue;
    readonly executionKey: string;
    readonly outcome: ToolOutcome;
    readonly toolAttempt: number;
    readonly durationMs: number;
    /** What a run that the call started has used: it is this run's, too (E-905). */
    readonly usage?: Usage | null;
    readonly usageIncomplete?: boolean;
    readonly _raw: JsonValue;
  };
  'tool-result': {
    readonly toolCallId: string;
    readonly name: string;
    readonly content: string;
    readonly isError: boolean;
    /** The whole result, where `content` is only its head and tail (E-550). */
    readonly spill?: ContentRef;
    readonly media?: readonly MediaRef[];
  };
  'todos-updated': {
    readonly todos: readonly Todo[];
    readonly completed: number;
    readonly total: number;
    readonly inProgress: string | null;
  };
  'file-changed': {
    readonly kind: 'create' | 'modify' | 'delete';
    readonly path: string;
    readonly executionKey?: string;
    readonly bytes?: number;
    readonly sha256?: string;
    /** The artifact, where the server keeps one: said once for each by the check of the workspace at the end (UD-53). */
    readonly fileId?: FileId;
  };
  'approval-required': PendingTool;
  'recovery-required': PendingTool;
  'approval-decided': ApprovalDecided;
  compacted: {
    readonly trigger: 'auto' | 'overflow' | 'manual';
    readonly method: 'prune' | 'summary' | 'trim';
    readonly tokensBefore: number;
    readonly tokensAfter: number;
    readonly throughSeq: number;
    readonly summary?: string;
    /** Of all calls that were made for it, those in vain included. */
    readonly usage: Usage | null;
    /** Whether one of them used what nobody has said. Absent: of a summary, where `usage` is null. */
    readonly usageIncomplete?: boolean;
  };
  'budget-reached': BudgetReached;
  'step-finished': {
    /** Null when the step was given up. */
    readonly finishReason: StopReason | null;
    readonly usage: Usage | null;
    readonly usageIncomplete: boolean;
    readonly served: ModelRef | null;
    readonly requested: ModelRef;
    readonly calls: number;
    readonly attempts: number;
    readonly durationMs: number;
  };
  gap: {
    readonly reason:
      | 'event_history_unavailable'
      | 'events_pruned'
      | 'deltas_lost'
      | 'log_limit'
      /** Files that the run made are no artifacts: there was no room for them, or nobody could look. */
      | 'files-limit'
      | 'files-unchecked';
    readonly from?: number;
    readonly to?: number;
    readonly step?: number;
    readonly attempt?: number;
  };
  error: ErrorInfo;
  'run-result': RunResultData;
}

export type RunEventType = keyof EventData;

/** Where in the run an event belongs. `attempt` is 0 for events that no model attempt produced (E-102). */
export interface EventPosition {
  readonly step: number;
  readonly attempt: number;
  /** Block inside a reply, in provider order. */
  readonly block?: number;
  /** Names of the sub-agents it happened in, outermost first; absent for the run itself. */
  readonly agentPath?: readonly string[];
}

export interface EventBase extends EventPosition {
  readonly v: 1;
  readonly seq: number;
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** Unix ms. */
  readonly at: number;
  readonly leg: number;
}

/** A stored fact. */
export type RunEvent = {
  [T in RunEventType]: EventBase & { readonly type: T; readonly data: EventData[T] };
}[RunEventType];
/** A fact before the log has taken it in: what a harness yields. */
export type EventDraft = {
  [T in RunEventType]: EventPosition & { readonly type: T; readonly data: EventData[T] };
}[RunEventType];
export type RunEventOf<T extends RunEventType> = Extract<RunEvent, { type: T }>;

const liveTypes: ReadonlySet<RunEventType> = new Set<RunEventType>([
  'text-delta',
  'thinking-delta',
  'tool-call-delta',
  'tool-output-delta',
  'waiting',
]);

/** True for provisional events (R1). Their loss costs a retry's display, never a fact. */
export function isLive(type: RunEventType): boolean {
  return liveTypes.has(type);
}

/** The key that execution, approval and replay are bound to: the same over all retries of one call (E-530). */
export function executionKeyOf(runId: RunId, step: number, callId: string): string {
  return `${runId}:${step}:${callId}`;
}
