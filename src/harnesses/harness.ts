// The whole contract between Reins and an agent runtime. An adapter is a folder that implements it and can be deleted.
//
// A1. An adapter yields drafts in groups; a group is appended whole. After a group that holds a committed event the host
//     asks for the next group only when the first is durable, so what follows a `yield` may rely on it (P-071, E-532).
// A2. A turn ends with exactly one `run-result` and never throws for a failed run, only for misuse (P-072). The host
//     makes the ending of an adapter that throws, stops or goes on.
// A3. Optional methods are the capabilities: a missing one means "cannot", and clients are told so (P-070).
// A4. `run-started` is the host's own, and so is what a changed file is kept as (`fileId`); an adapter never yields them.
// A5. The host answers a group that holds a committed event with the committed events that the log has taken in since it
//     last did: facts from outside, then the group's own. Where an ending is not among them, somebody spoke before it was
//     stored: the turn goes on (E-661). An adapter that does not care may ignore the answers.

import type { Clock } from '../core/clock.ts';
import type { Message } from '../core/transcript.ts';
import type { ModelChoice, ModelListing } from '../core/model-choice.ts';
import type { AgentRef, EventDraft, LeftBy, RunEvent, RunStarted, Todo } from '../core/run-event.ts';
import type { Limits, RunConfig } from '../core/run-config.ts';
import type { Rule } from '../core/rule.ts';
import type { RunState } from '../core/run-state.ts';
import type { SessionId } from '../core/ids.ts';

/** What a client can read of a harness's abilities; values are words, never an implied true. */
export interface Capabilities {
  readonly text: 'stream' | 'whole';
  readonly thinking: 'stream' | 'whole' | 'none';
  readonly toolInput: 'stream' | 'whole';
  readonly approvals: 'every-call' | 'own-rules' | 'none';
  readonly questions: 'yes' | 'no';
  readonly steer: 'next-step' | 'after-reply' | 'cuts-reply' | 'none';
  readonly cancel: 'in-band' | 'kill';
  readonly resume: 'chosen-id' | 'own-id' | 'none';
  readonly disabledTools: 'block' | 'partly' | 'instruction';
  readonly maxStep: 'exact' | 'none';
  readonly usage: 'per-step' | 'at-end' | 'none';
  /** What a refused call does to the turn. */
  readonly denial: 'goes-on' | 'ends-turn';
  /** Whether a cancel is known to have ended every process. */
  readonly tree: 'proven' | 'best-effort';
  /** A session from an earlier response on, from the runtime's own memory; else the conversation is quoted to a new one. */
  readonly fork: 'yes' | 'no';
  readonly compact: 'yes' | 'no';
  /** Tools of the caller. */
  readonly hostTools: 'yes' | 'no';
  /** Transports of the MCP servers that it can be given. */
  readonly mcp: readonly ('http' | 'sse' | 'stdio')[];
  readonly skills: 'folder' | 'none';
  /** How it is known which model answered, and that a reply was begun anew. */
  readonly servedModel: 'told' | 'relay' | 'unknown';
  readonly resets: 'told' | 'relay' | 'hidden';
  readonly sandbox: 'own' | 'none';
}

export interface HarnessStatus {
  readonly installed: boolean;
  readonly version: string | null;
  /** What is missing and how to mend it, or null. */
  readonly problem: { readonly code: string; readonly message: string } | null;
  readonly models: readonly ModelListing[];
  /** The model a task gets that names none. */
  readonly defaultModel: string;
  readonly capabilities: Capabilities;
}

export interface OpenSessionOptions {
  readonly sessionId: SessionId;
  /** Absolute path of the working directory. */
  readonly workspace: string;
  /** The conversation before this turn, for runtimes that keep none of their own. */
  readonly history: readonly Message[];
  /** The task list that it left; null = none. */
  readonly todos: readonly Todo[] | null;
  readonly clock: Clock;
}

/** Of people, while a turn is at work. */
export interface CompactionRequests {
  /** The newest one, once; null: none. */
  take(): { readonly instructions?: string } | null;
}

export interface TurnOptions {
  /** Aborts when the turn must stop; the reason is a `StopTurn`. */
  readonly signal: AbortSignal;
  /** Aborts when the run shall be parked once what runs has ended (E-819). */
  readonly pause: AbortSignal;
  /** Requests to shorten the conversation before the next step; taking one answers it (E-440). */
  readonly compactions: CompactionRequests;
  /** Remembered decisions as they are now (E-609). */
  rules(): Promise<readonly Rule[]>;
  /**
   * What people say to the run while it is at work, as soon as the log has it; until the signal aborts. For runtimes that
   * must be told at once: the answers of A5 hold the same facts, later.
   */
  outside(signal: AbortSignal): AsyncIterable<RunEvent>;
  /**
   * Asked between two effects; true: the turn ends there without a result, and another one goes on from the log (E-871).
   * Absent: never. Only for adapters whose turns ask it.
   */
  readonly leaveBefore?: (state: RunState) => boolean;
}

export interface AttachOptions extends TurnOptions {
  readonly cause: RunStarted['cause'];
  /** What became of the owner before, where the cause is `recovery`. */
  readonly leftBy: LeftBy;
}

/** Groups of drafts, answered as A5 says. */
export type Turn = AsyncIterable<readonly EventDraft[], void, readonly RunEvent[] | undefined>;

export interface HarnessSession extends AsyncDisposable {
  /** Runs one turn: `state` is the fold of the run's `run-started`, input and settings included. */
  prompt(state: RunState, options: TurnOptions): Turn;
  /**
   * Goes on with a run from the fold of its log: one that was cut off (`recovery`), or one that was parked. Absent: the
   * host ends such a run honestly (UD-60).
   */
  attach?(state: RunState, options: AttachOptions): Turn;
}

/** An agent that was put together in code: what its runs are stored with, in place of what a harness record says. */
export interface AgentSettings {
  readonly ref: AgentRef;
  readonly config: RunConfig;
  /** With those of one run over them. @throws ConfigurationError  A value that cannot be. */
  limits(own: Partial<Limits>): Limits;
}

export interface HarnessAdapter {
  /** Absent: tasks are configured by their harness's record. */
  readonly agent?: AgentSettings;
  /** The base: kebab-case, what a harness's `base` names. */
  readonly base: string;
  /** For people. */
  readonly label: string;
  /** Of the MCP servers that a harness may bring to it (U-114, UP-35); absent: it takes none. */
  readonly mcpTransports?: readonly ('http' | 'sse' | 'stdio')[];
  /** Works in a directory below its workspace by itself, and confined to the whole (`RunConfig.directory`). Absent: it is opened there. */
  readonly keepsDirectory?: true;
  /** Makes no model call (H-010). */
  probe(): Promise<HarnessStatus>;
  /** Finds the model for a task; null = the default one. */
  chooseModel(requested: string | null): Promise<ModelChoice>;
  openSession(options: OpenSessionOptions): Promise<HarnessSession>;
  /** A new task of the session could not even wait for a process of it (UD-59). Absent: there is always room. */
  isFull?(sessionId: SessionId): boolean;
  /**
   * The session's run, which was parked, ends without going on: what was kept for it goes, and has gone when this resolves.
   * Gives the names of what could not be stopped. Absent: nothing is kept.
   */
  endParked?(sessionId: SessionId): Promise<readonly string[]>;
  /** The session is gone for good: whatever of it goes on between turns has ended when this resolves. Absent: nothing does. */
  forgetSession?(sessionId: SessionId): Promise<void>;
}
