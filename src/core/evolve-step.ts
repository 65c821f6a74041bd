import { addUsage } from './usage.ts';
import type { LastStep, OpenStep, RunState } from './run-state.ts';
import { isLostWithOwner, type RunEventOf } from './run-event.ts';

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

/** One event further of those that make up the steps of a run. */
export function evolveStep(state: RunState, event: StepEvent): RunState {
  switch (event.type) {
    case 'run-started':
      return startLeg(state, event);
    case 'step-started':
      return startStep(state, event);
    case 'text-complete':
      return state.open === null ? state : { ...state, open: { ...state.open, text: event.data } };
    case 'turn-complete':
      return acceptTurn(state, event);
    case 'attempt-reset':
      return giveUpAttempt(state, event);
    case 'step-finished':
      return leaveStep(state, event);
    case 'user-message':
      return hearUser(state, event);
    case 'thinking-complete':
      return state;
  }
}

function hearUser(state: RunState, { data }: RunEventOf<'user-message'>): RunState {
  if (data.mode === 'steer')
    return state.unread.includes(data.messageId) ? state : { ...state, unread: [...state.unread, data.messageId] };
  if (data.purpose !== 'todo-reminder') return state;
  const answerBefore = `${state.answerPieces}${state.last?.text ?? ''}`;
  const piecesSwitched = state.piecesSwitched || state.last?.switched === true;
  return { ...state, answerBefore, piecesSwitched, recoveries: { ...state.recoveries, reminded: true } };
}

function startStep(state: RunState, event: RunEventOf<'step-started'>): RunState {
  const { last, recoveries } = state;
  const continues = event.data.purpose === 'continuation';
  const cut = last?.finishReason === 'max-tokens' || last?.finishReason === 'pause-turn';
  const kind = cut ? last.finishReason : last?.empty === true ? 'empty' : null;
  return {
    ...state,
    step: event.step,
    attempts: state.attempts + 1,
    open: enterStep(event),
    unread: [],
    countedSteps: state.countedSteps + (continues ? 0 : 1),
    answerPieces: continues ? state.answerPieces + (last?.text ?? '') : '',
    piecesSwitched: continues
      ? state.piecesSwitched || last?.switched === true
      : state.answerBefore !== '' && state.piecesSwitched,
    recoveries: {
      ...recoveries,
      truncations: recoveries.truncations + (kind === 'max-tokens' ? 1 : 0),
      pauses: recoveries.pauses + (kind === 'pause-turn' ? 1 : 0),
      empties: recoveries.empties + (kind === 'empty' ? 1 : 0),
    },
  };
}

function startLeg(state: RunState, event: RunEventOf<'run-started'>): RunState {
  const { leg, cause, model, limits, task, _config, requestId, agent, parent } = event.data;
  const next: RunState = { ...state, leg, status: 'running', requested: model, limits, result: null };
  if (leg > 1) return resumeLeg(next, { cause, parkedAtMs: state.result?.endedAtMs ?? null, atMs: event.at });
  return {
    ...next,
    agent: agent ?? null,
    parent: parent ?? null,
    startedAtMs: event.at,
    task: task ?? null,
    config: _config ?? null,
    requestId: requestId ?? null,
  };
}

function resumeLeg(
  state: RunState,
  from: { readonly cause: string; readonly parkedAtMs: number | null; readonly atMs: number },
): RunState {
  const parkedMs = state.parkedMs + (from.parkedAtMs === null ? 0 : Math.max(0, from.atMs - from.parkedAtMs));
  const open =
    state.open === null || from.cause === 'recovery'
      ? state.open
      : { ...state.open, earlierAttempts: state.open.attempt - 1, crashResets: 0, overflowResets: 0 };
  return { ...state, parkedMs, open };
}

/** An attempt of which nothing was heard yet. */
const freshAttempt = { shown: false, shownText: '', served: null, switched: false } as const;

function enterStep(event: RunEventOf<'step-started'>): OpenStep {
  return {
    ...freshAttempt,
    number: event.step,
    purpose: event.data.purpose,
    requested: event.data.model,
    startedAtMs: event.at,
    attempt: 1,
    crashResets: 0,
    earlierAttempts: 0,
    overflowResets: 0,
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
  const tokens = usage?.inputTokens ?? 0;
  const measured = tokens === 0 ? state.measured : { tokens, before: event.seq };
  return { ...state, open, served: open.served ?? state.served, measured };
}

function giveUpAttempt(state: RunState, event: RunEventOf<'attempt-reset'>): RunState {
  if (state.open === null) return state;
  const { nextAttempt, reason, retryInMs, usage } = event.data;
  const open: OpenStep = {
    ...state.open,
    ...freshAttempt,
    attempt: nextAttempt,
    crashResets: state.open.crashResets + (isLostWithOwner(reason) ? 1 : 0),
    overflowResets: state.open.overflowResets + (reason === 'context-overflow' ? 1 : 0),
    usage: addUsage(state.open.usage, usage ?? null),
    usageIncomplete: state.open.usageIncomplete || usage === undefined,
    stage: { at: 'backoff', untilMs: event.at + retryInMs },
  };
  // A reply that a message cut is begun anew with it (E-208).
  const unread = reason === 'steered' ? [] : state.unread;
  return { ...state, open, unread, attempts: state.attempts + 1 };
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
    switched: accepted && open.switched,
  };
  return {
    ...state,
    open: null,
    last,
    pending: [],
    usage: addUsage(state.usage, event.data.usage),
    usageIncomplete: state.usageIncomplete || event.data.usageIncomplete,
    toolRounds: state.toolRounds + (open.ranTools ? 1 : 0),
    abandonedText: accepted ? '' : open.shownText,
  };
}
