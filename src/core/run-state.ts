// The state of a run is a fold of its log and nothing else (E-002): a run that was cut off is continued by folding its log
// and asking the core what is next.
//
// S1. `evolve` is total and pure: an event type of a newer version leaves the state as it is (E-005).
// S2. `evolve` costs the same for the first and the hundred-thousandth event; live deltas only join strings.
// S3. A final status never changes (E-122).

import { addUsage, type Usage } from './usage.ts';
import { emptyTranscript, extendTranscript, type Transcript } from './transcript.ts';
import type { ErrorInfo, ModelRef, RunResultData, RunStatus, StopReason } from './outcome.ts';
import type { JsonValue } from './json.ts';
import type { RunId, SessionId } from './ids.ts';
import { noBudgets } from './run-event.ts';
import type {
  BudgetReached,
  Limits,
  ReplayPolicy,
  RunConfig,
  RunEvent,
  RunEventOf,
  TaskFacts,
  ToolCall,
  ToolOutcome,
} from './run-event.ts';

/** Life of one tool call: `written` by the model, then announced, dispatched, returned, answered (E-531). */
export type CallProgress =
  | { readonly at: 'written' }
  | { readonly at: 'started'; readonly input: JsonValue; readonly willRun: boolean }
  | {
      readonly at: 'dispatched';
      readonly input: JsonValue;
      readonly toolAttempt: number;
      readonly replay: ReplayPolicy;
    }
  | { readonly at: 'returned'; readonly input: JsonValue; readonly outcome: ToolOutcome; readonly raw: JsonValue }
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
  /** Attempts lost to a crash or a lost worker; they do not use the retry budget up (E-213). */
  readonly crashResets: number;
  /** Text shown by that attempt, accepted or not. */
  readonly shownText: string;
  /** Whether any live event of that attempt was stored. */
  readonly shown: boolean;
  readonly served: ModelRef | null;
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
  readonly requested: ModelRef;
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
  /** Accepted pieces of an answer that a later step continues (E-401). */
  readonly answerPieces: string;
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
    requested: { provider: '', model: '' },
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
    answerPieces: '',
    abandonedText: '',
    budget: null,
    error: null,
    result: null,
  };
}

/** One event further (S1, S2). */
export function evolve(state: RunState, event: RunEvent): RunState {
  if (event.agentPath !== undefined && event.agentPath.length > 0) return state; // A sub-agent's: no step of this run (E-114).
  switch (event.type) {
    case 'text-delta':
      return showText(state, event.data);
    case 'thinking-delta':
    case 'tool-call-delta':
      return state.open === null || state.open.shown ? state : { ...state, open: { ...state.open, shown: true } };
    case 'waiting':
    case 'todos-updated':
    case 'file-changed':
    case 'compacted':
    case 'gap':
      return state;
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
    case 'approval-decided':
      return state;
    default:
      event satisfies never;
      return state;
  }
}

function withTranscript(state: RunState, event: RunEvent): RunState {
  const transcript = extendTranscript(state.transcript, event);
  return transcript === state.transcript ? state : { ...state, transcript };
}

function showText(state: RunState, text: string): RunState {
  if (state.open === null) return state;
  return { ...state, open: { ...state.open, shown: true, shownText: state.open.shownText + text } };
}

function switchModel(state: RunState, event: RunEventOf<'model-switched'>): RunState {
  const { to, reason } = event.data;
  const open = state.open === null ? null : { ...state.open, served: to };
  return { ...state, open, served: to, switchReason: reason };
}

type StepEvent = RunEventOf<
  | 'run-started'
  | 'user-message'
  | 'step-started'
  | 'thinking-complete'
  | 'text-complete'
  | 'turn-complete'
  | 'attempt-reset'
  | 'step-finished'
>;

function evolveStep(state: RunState, event: StepEvent): RunState {
  switch (event.type) {
    case 'run-started':
      return startLeg(state, event);
    case 'step-started':
      return { ...state, step: event.step, attempts: state.attempts + 1, open: enterStep(event) };
    case 'text-complete':
      return state.open === null ? state : { ...state, open: { ...state.open, text: event.data } };
    case 'turn-complete':
      return acceptTurn(state, event);
    case 'attempt-reset':
      return giveUpAttempt(state, event);
    case 'step-finished':
      return leaveStep(state, event);
    case 'user-message':
    case 'thinking-complete':
      return state;
  }
}

function startLeg(state: RunState, event: RunEventOf<'run-started'>): RunState {
  const { leg, model, limits, task, _config, requestId } = event.data;
  const next: RunState = { ...state, leg, status: 'running', requested: model, limits };
  if (leg > 1) return next;
  return {
    ...next,
    startedAtMs: event.at,
    task: task ?? null,
    config: _config ?? null,
    requestId: requestId ?? null,
  };
}

function enterStep(event: RunEventOf<'step-started'>): OpenStep {
  return {
    number: event.step,
    purpose: event.data.purpose,
    requested: event.data.model,
    startedAtMs: event.at,
    attempt: 1,
    crashResets: 0,
    shownText: '',
    shown: false,
    served: null,
    usage: null,
    usageIncomplete: false,
    finishReason: null,
    text: '',
    calls: [],
    ranTools: false,
    stage: { at: 'calling' },
  };
}

function acceptTurn(state: RunState, event: RunEventOf<'turn-complete'>): RunState {
  if (state.open === null) return state;
  const { calls, finishReason, served, usage, usageIncomplete } = event.data;
  const open: OpenStep = {
    ...state.open,
    stage: { at: 'accepted' },
    attempt: event.attempt,
    finishReason,
    served: served ?? state.open.served,
    usage: addUsage(state.open.usage, usage),
    usageIncomplete: state.open.usageIncomplete || usageIncomplete,
    calls: calls.map((call) => ({ call, progress: { at: 'written' } })),
  };
  return { ...state, open, served: open.served ?? state.served };
}

function giveUpAttempt(state: RunState, event: RunEventOf<'attempt-reset'>): RunState {
  if (state.open === null) return state;
  const { nextAttempt, reason, retryInMs, usage } = event.data;
  const crashed = reason === 'crash' || reason === 'worker-lost';
  const open: OpenStep = {
    ...state.open,
    attempt: nextAttempt,
    crashResets: state.open.crashResets + (crashed ? 1 : 0),
    shown: false,
    shownText: '',
    served: null,
    usage: addUsage(state.open.usage, usage ?? null),
    usageIncomplete: state.open.usageIncomplete || usage === undefined,
    stage: { at: 'backoff', untilMs: event.at + retryInMs },
  };
  return { ...state, open, attempts: state.attempts + 1 };
}

function leaveStep(state: RunState, event: RunEventOf<'step-finished'>): RunState {
  const { open } = state;
  if (open === null) return state;
  const accepted = open.stage.at === 'accepted';
  const last: LastStep = {
    purpose: open.purpose,
    finishReason: event.data.finishReason,
    text: open.text,
    calls: open.calls.length,
    callsNotRun: open.calls.length > 0 && !open.ranTools,
    empty: accepted && open.text === '' && open.calls.length === 0,
  };
  return {
    ...state,
    open: null,
    last,
    usage: addUsage(state.usage, event.data.usage),
    usageIncomplete: state.usageIncomplete || event.data.usageIncomplete,
    toolRounds: state.toolRounds + (open.ranTools ? 1 : 0),
    abandonedText: accepted ? '' : open.shownText,
  };
}

type CallEvent = RunEventOf<'tool-call-start' | 'tool-dispatched' | 'tool-call-complete' | 'tool-result'>;

function evolveCall(state: RunState, event: CallEvent): RunState {
  if (state.open === null) return state;
  const id = event.type === 'tool-result' ? event.data.toolCallId : event.data.id;
  const calls = state.open.calls.map((entry) =>
    entry.call.id === id ? { ...entry, progress: progressAfter(entry.progress, event) } : entry,
  );
  const ranTools = state.open.ranTools || event.type === 'tool-dispatched';
  return { ...state, open: { ...state.open, calls, ranTools } };
}

function progressAfter(progress: CallProgress, event: CallEvent): CallProgress {
  switch (event.type) {
    case 'tool-call-start':
      return { at: 'started', input: event.data.input, willRun: event.data.willRun };
    case 'tool-dispatched': {
      const input = 'input' in progress ? progress.input : null;
      return { at: 'dispatched', input, toolAttempt: event.data.toolAttempt, replay: event.data.replay };
    }
    case 'tool-call-complete':
      return { at: 'returned', input: event.data.input, outcome: event.data.outcome, raw: event.data._raw };
    case 'tool-result':
      return { at: 'answered', outcome: progress.at === 'returned' ? progress.outcome : 'ok' };
  }
}
