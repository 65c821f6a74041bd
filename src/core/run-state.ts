// The state of a run is a fold of its log and nothing else (E-002): a run that was cut off is continued by folding its log
// and asking the core what is next.
//
// S1. `evolve` is total and pure: an event type of a newer version leaves the state as it is (E-005).
// S2. `evolve` costs the same for the first and the hundred-thousandth event; live deltas only join strings.
// S3. A final status never changes (E-122).

import { addUsage, type Usage } from './usage.ts';
import { emptyTranscript, extendTranscript, type Transcript } from './transcript.ts';
import type { ErrorInfo, ModelRef, RunResultData, RunStatus, StopReason } from './outcome.ts';
import { evolveCall } from './evolve-call.ts';
import { evolveStep } from './evolve-step.ts';
import type { JsonValue } from './json.ts';
import type { RunId, SessionId } from './ids.ts';
import { noBudgets } from './run-config.ts';
import type {
  AgentRef,
  ApprovalDecided,
  BudgetReached,
  EventDraft,
  ParentRun,
  PendingStatus,
  PendingTool,
  RunEvent,
  RunEventOf,
  TaskFacts,
  Todo,
  ToolCall,
  ToolOutcome,
} from './run-event.ts';
import type { Limits, RunConfig } from './run-config.ts';

/** Life of one tool call: `written` by the model, then announced, dispatched, returned, answered (E-531). */
export type CallProgress = { readonly at: 'written' } | (BegunCall & CallStage);

/** Name and input as the call was begun with: the model's own can be an alias (E-512). */
interface BegunCall {
  readonly name: string;
  readonly input: JsonValue;
}

type CallStage =
  | { readonly at: 'started'; readonly willRun: boolean }
  | ({ readonly at: 'dispatched' } & Pick<
      RunEventOf<'tool-dispatched'>['data'],
      'toolAttempt' | 'replay' | 'argsDigest' | 'childRunId'
    >)
  | { readonly at: 'returned'; readonly outcome: ToolOutcome; readonly raw: JsonValue }
  | { readonly at: 'answered'; readonly outcome: ToolOutcome };

export interface CallState {
  readonly call: ToolCall;
  readonly progress: CallProgress;
}

/** The step that is open: one reply asked for, and the calls it made. */
export interface OpenStep {
  readonly number: number;
  readonly purpose: 'reply' | 'continuation' | 'final-answer';
  readonly requested: ModelRef;
  readonly startedAtMs: number;
  /** The attempt in flight, or cut, or accepted. */
  readonly attempt: number;
  /** Attempts of earlier legs: an explicit resume or a decision begins with a fresh retry budget (E-213). */
  readonly earlierAttempts: number;
  /** Of this leg's, those lost to a crash or a lost worker; they do not use the retry budget up (E-213). */
  readonly crashResets: number;
  /** Of this leg's, those lost to a request that was too long and was shortened (E-440). */
  readonly overflowResets: number;
  /** Text shown by that attempt, accepted or not. */
  readonly shownText: string;
  /** Whether any live event of that attempt was stored. */
  readonly shown: boolean;
  readonly served: ModelRef | null;
  /** Whether that attempt is answered by another model than was asked for. */
  readonly switched: boolean;
  readonly usage: Usage | null;
  readonly usageIncomplete: boolean;
  readonly finishReason: StopReason | null;
  readonly text: string;
  readonly calls: readonly CallState[];
  /** True once a call of this step was really dispatched: the step counts as a tool round (UD-02). */
  readonly ranTools: boolean;
  readonly stage:
    | { readonly at: 'calling' }
    /** Attempt `attempt + 1` begins at `untilMs` (E-214). */
    | { readonly at: 'backoff'; readonly untilMs: number }
    | { readonly at: 'accepted' };
}

/** What the last finished step left behind. */
export interface LastStep {
  readonly purpose: OpenStep['purpose'];
  readonly finishReason: StopReason | null;
  readonly text: string;
  readonly calls: number;
  /** True when its calls were answered without being run. */
  readonly callsNotRun: boolean;
  readonly empty: boolean;
  /** Whether another model than the requested one gave it (E-063). */
  readonly switched: boolean;
}

/** A pending call, and what was said of it. */
export interface PendingEntry extends PendingTool {
  readonly decided: ApprovalDecided | null;
}

/** What the engine has already put right in this run; each has its own limit. */
export interface Recoveries {
  readonly truncations: number;
  readonly pauses: number;
  readonly empties: number;
  readonly overflows: number;
  readonly summaries: number;
  /** The one reminder of an open task list (E-408). */
  readonly reminded: boolean;
}

export interface RunState {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly requestId: string | null;
  readonly status: RunStatus;
  readonly leg: number;
  /** Number of the newest step, open or finished; 0 before the first. */
  readonly step: number;
  readonly attempts: number;
  readonly startedAtMs: number;
  /** Time in which the run waited for a person: no part of its time budget. */
  readonly parkedMs: number;
  readonly requested: ModelRef;
  readonly agent: AgentRef | null;
  readonly parent: ParentRun | null;
  readonly limits: Limits;
  readonly config: RunConfig | null;
  readonly task: TaskFacts | null;
  readonly transcript: Transcript;
  readonly open: OpenStep | null;
  readonly last: LastStep | null;
  readonly usage: Usage | null;
  readonly usageIncomplete: boolean;
  readonly served: ModelRef | null;
  readonly switchReason: string | null;
  readonly toolRounds: number;
  /** Steps that count for the limit: continuations do not (E-420). */
  readonly countedSteps: number;
  readonly recoveries: Recoveries;
  /** Calls that wait for a person, of the open step, decided ones included. */
  readonly pending: readonly PendingEntry[];
  readonly todos: readonly Todo[] | null;
  /** The newest request by its provider's own count: all that is read before place `before`, system prompt and tools included. */
  readonly measured: { readonly tokens: number; readonly before: number } | null;
  /** Steering messages that no step has taken in yet (E-660). */
  readonly unread: readonly string[];
  /** Fingerprints of the newest calls with their results, for the loop guard (E-560). */
  readonly recentCalls: readonly string[];
  /** The answer before the one reminder of an open task list; kept in front of what follows (E-408). */
  readonly answerBefore: string;
  /** Accepted pieces of an answer that a later step continues (E-401). */
  readonly answerPieces: string;
  /** Whether another model than the requested one gave one of them, or the answer before. */
  readonly piecesSwitched: boolean;
  /** Text of the last attempt that was given up for good, for `partialOutput`. */
  readonly abandonedText: string;
  readonly budget: BudgetReached | null;
  readonly error: ErrorInfo | null;
  readonly result: RunResultData | null;
}

/** The state before any event. The ids are those of the log that will be folded. */
export function initialRunState(runId: RunId, sessionId: SessionId): RunState {
  return {
    runId,
    sessionId,
    requestId: null,
    status: 'running',
    leg: 0,
    step: 0,
    attempts: 0,
    startedAtMs: 0,
    parkedMs: 0,
    requested: { provider: '', model: '' },
    agent: null,
    parent: null,
    limits: noBudgets,
    config: null,
    task: null,
    transcript: emptyTranscript,
    open: null,
    last: null,
    usage: null,
    usageIncomplete: false,
    served: null,
    switchReason: null,
    toolRounds: 0,
    countedSteps: 0,
    recoveries: { truncations: 0, pauses: 0, empties: 0, overflows: 0, summaries: 0, reminded: false },
    pending: [],
    todos: null,
    measured: null,
    unread: [],
    recentCalls: [],
    answerBefore: '',
    answerPieces: '',
    piecesSwitched: false,
    abandonedText: '',
    budget: null,
    error: null,
    result: null,
  };
}

/** Live events further, all at once: the same as `evolve` one by one, at the cost of one (S2). */
export function evolveLive(state: RunState, drafts: readonly EventDraft[]): RunState {
  const { open } = state;
  if (open === null) return state;
  let { shown } = open;
  // Joined once: a string that grows piece by piece keeps a node for each of them alive.
  const texts: string[] = [];
  for (const draft of drafts) {
    if (draft.agentPath !== undefined && draft.agentPath.length > 0) continue;
    if (draft.type === 'text-delta') texts.push(draft.data);
    shown ||= draft.type === 'text-delta' || draft.type === 'thinking-delta' || draft.type === 'tool-call-delta';
  }
  const text = texts.join('');
  if (text === '' && shown === open.shown) return state;
  return { ...state, open: { ...open, shown, shownText: open.shownText + text } };
}

/** When the time budget of the run is spent, in Unix ms; null = never. Waiting for a person does not count (UR-03). */
export function deadlineOf({ limits, startedAtMs, parkedMs }: RunState): number | null {
  return limits.maxSeconds === null ? null : startedAtMs + parkedMs + limits.maxSeconds * 1000;
}

/** One event further (S1, S2). */
export function evolve(state: RunState, event: RunEvent): RunState {
  if (event.agentPath !== undefined && event.agentPath.length > 0) return state; // A sub-agent's: no step of this run (E-114).
  switch (event.type) {
    case 'text-delta':
    case 'thinking-delta':
    case 'tool-call-delta':
      return evolveLive(state, [event]);
    case 'waiting':
    case 'tool-output-delta':
    case 'file-changed':
    case 'gap':
      return state;
    case 'todos-updated':
      return { ...state, todos: event.data.todos };
    case 'compacted':
      return withTranscript(countCompaction(state, event), event);
    case 'run-result':
      return { ...state, status: event.data.status, result: event.data };
    case 'error':
      return { ...state, error: event.data };
    case 'budget-reached':
      return { ...state, budget: event.data };
    case 'model-switched':
      return switchModel(state, event);
    case 'tool-call-start':
    case 'tool-dispatched':
    case 'tool-call-complete':
    case 'tool-result':
      return withTranscript(evolveCall(state, event), event);
    case 'run-started':
    case 'user-message':
    case 'step-started':
    case 'thinking-complete':
    case 'text-complete':
    case 'turn-complete':
    case 'attempt-reset':
    case 'step-finished':
      return withTranscript(evolveStep(state, event), event);
    case 'approval-required':
    case 'recovery-required':
      return {
        ...state,
        pending: [...state.pending, { ...event.data, decided: null }],
        usage: addUsage(state.usage, event.data.usage ?? null),
      };
    case 'approval-decided':
      return decidePending(state, event.data);
    default:
      event satisfies never;
      return state;
  }
}

function withTranscript(state: RunState, event: RunEvent): RunState {
  const transcript = extendTranscript(state.transcript, event);
  return transcript === state.transcript ? state : { ...state, transcript };
}

function countCompaction(state: RunState, { data }: RunEventOf<'compacted'>): RunState {
  const overflows = state.recoveries.overflows + (data.trigger === 'overflow' ? 1 : 0);
  const summaries = state.recoveries.summaries + (data.method === 'summary' ? 1 : 0);
  return {
    ...state,
    recoveries: { ...state.recoveries, overflows, summaries },
    measured: null,
    usage: addUsage(state.usage, data.usage),
    usageIncomplete:
      state.usageIncomplete || data.usageIncomplete === true || (data.method === 'summary' && data.usage === null),
  };
}

function decidePending(state: RunState, decided: ApprovalDecided): RunState {
  const pending = state.pending.map((entry) =>
    entry.approvalId === decided.approvalId && entry.decided === null
      ? { ...entry, decided, status: statusAfter(decided) }
      : entry,
  );
  return { ...state, pending };
}

/** The status of an entry once that was said of it (UR-05). */
export function statusAfter({ decision }: Pick<ApprovalDecided, 'decision'>): PendingStatus {
  switch (decision) {
    case 'approve':
      return 'approved';
    case 'deny':
      return 'denied';
    case 'answer':
    case 'decline':
      return 'answered';
    case 'result':
    case 'retry':
    case 'abort':
      return 'resolved';
    case 'expired':
    case 'cancelled':
      return decision;
  }
}

/** Whether the entry still waits for a person. */
export function isOpen({ status }: Pick<PendingTool, 'status'>): boolean {
  return status === 'pending' || status === 'uncertain';
}

function switchModel(state: RunState, event: RunEventOf<'model-switched'>): RunState {
  const { to, reason } = event.data;
  const switched = to.model !== state.requested.model || to.provider !== state.requested.provider;
  const open = state.open === null ? null : { ...state.open, served: to, switched };
  return { ...state, open, served: to, switchReason: reason };
}
