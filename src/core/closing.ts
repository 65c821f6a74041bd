// The one way a run ends (E-564): whatever stopped it, every open call gets its start, completion and answer, the open step
// its end, and the log its `run-result`. Cancel, failure, budgets and recovery all close here, in every driver.
//
// C1. The result is computed from the state after all other closing events: it equals the fold of the log (E-134).
// C2. Order: answers, `step-finished`, `budget-reached`?, `error`?, `run-result` (E-131).

import { evolve, type CallProgress, type CallState, type OpenStep, type RunState } from './run-state.ts';
import { parsedOrText } from './json.ts';
import { toolAnswer } from './tool-answer.ts';
import { executionKeyOf, type BudgetReached, type EventDraft, type RunEvent, type ToolOutcome } from './run-event.ts';
import type { ErrorInfo, RunResultData, StopReason } from './outcome.ts';

export type Ending =
  | { readonly status: 'completed'; readonly stopReason: StopReason; readonly budget?: BudgetReached }
  | { readonly status: 'cancelled'; readonly unstopped?: readonly string[] }
  | { readonly status: 'failed'; readonly error: ErrorInfo };

/** Everything that still has to be written for the run to have ended. */
export function closeRun(state: RunState, ending: Ending, nowMs: number): readonly EventDraft[] {
  const drafts: EventDraft[] = [];
  if (state.open !== null) drafts.push(...closeStep(state, state.open, { ending, nowMs }));
  const position = { step: state.step, attempt: 0 };
  if (ending.status === 'completed' && ending.budget !== undefined && state.budget === null)
    drafts.push({ type: 'budget-reached', data: ending.budget, ...position });
  if (ending.status === 'failed') drafts.push({ type: 'error', data: ending.error, ...position });
  const closed = applyDrafts(state, drafts, nowMs);
  return [...drafts, { type: 'run-result', data: resultOf(closed, ending, nowMs), ...position }];
}

function closeStep(
  state: RunState,
  open: OpenStep,
  { ending, nowMs }: { readonly ending: Ending; readonly nowMs: number },
): readonly EventDraft[] {
  const answers = open.calls.flatMap((entry) => closeCall(state, entry, ending));
  const closed = applyDrafts(state, answers, nowMs).open ?? open;
  return [...answers, finishStep(state, closed, nowMs)];
}

/** The end of the open step: `finishReason` null when no reply was accepted (E-127). */
export function finishStep(state: RunState, open: OpenStep, nowMs: number): EventDraft {
  const accepted = open.stage.at === 'accepted';
  return {
    type: 'step-finished',
    step: state.step,
    attempt: 0,
    data: {
      finishReason: open.finishReason,
      usage: open.usage,
      usageIncomplete: open.usageIncomplete || !accepted,
      served: open.served,
      requested: open.requested,
      calls: open.calls.length,
      attempts: open.attempt,
      durationMs: Math.max(0, nowMs - open.startedAtMs),
    },
  };
}

function closeCall(state: RunState, entry: CallState, ending: Ending): readonly EventDraft[] {
  const { progress } = entry;
  switch (progress.at) {
    case 'answered':
      return [];
    case 'returned':
      return [answerReturned(state, entry, progress)];
    case 'dispatched':
      return answerCall(state, entry, {
        outcome: ending.status === 'cancelled' && progress.replay === 'safe' ? 'cancelled' : 'unknown',
        content: 'The run ended while this call was running; it may have partly run.',
      });
    case 'written':
    case 'started':
      return answerCall(state, entry, notRun(ending));
  }
}

function notRun(ending: Ending): { outcome: ToolOutcome; content: string } {
  switch (ending.status) {
    case 'cancelled':
      return { outcome: 'cancelled', content: 'Not executed: the run was cancelled.' };
    case 'failed':
      return { outcome: 'not-run', content: 'Not executed: the run failed before.' };
    case 'completed':
      return { outcome: 'not-run', content: `Not executed: the run ended (${ending.stopReason}).` };
  }
}

/**
 * Answers a call that did not come back by itself: `tool-call-start` where it is missing, `tool-call-complete`,
 * `tool-result` as an error the model can read (E-514).
 */
export function answerCall(
  state: RunState,
  entry: CallState,
  answer: { readonly outcome: ToolOutcome; readonly content: string },
): readonly EventDraft[] {
  const { call, progress } = entry;
  const position = callPosition(state);
  const executionKey = executionKeyOf(state.runId, position.step, call.id);
  const input = 'input' in progress ? progress.input : parsedOrText(call.arguments);
  const drafts: EventDraft[] = [];
  const named = { id: call.id, name: call.name, input, executionKey };
  if (progress.at === 'written')
    drafts.push({ type: 'tool-call-start', data: { ...named, willRun: false }, ...position });
  const toolAttempt = progress.at === 'dispatched' ? progress.toolAttempt : 0;
  const complete = { ...named, outcome: answer.outcome, toolAttempt, durationMs: 0, _raw: answer.content };
  drafts.push({ type: 'tool-call-complete', data: complete, ...position });
  drafts.push(resultDraft(state, entry, { content: answer.content, isError: true }));
  return drafts;
}

/** The answer to a call that came back before its owner was gone: from the stored result, without running it (E-532). */
export function answerReturned(
  state: RunState,
  entry: CallState,
  { raw, outcome }: Extract<CallProgress, { at: 'returned' }>,
): EventDraft {
  const content = toolAnswer(raw, state.limits.maxResultChars);
  return resultDraft(state, entry, { content, isError: outcome !== 'ok' });
}

function resultDraft(
  state: RunState,
  { call }: CallState,
  result: { readonly content: string; readonly isError: boolean },
): EventDraft {
  return { type: 'tool-result', data: { toolCallId: call.id, name: call.name, ...result }, ...callPosition(state) };
}

function callPosition(state: RunState): { step: number; attempt: number } {
  return { step: state.step, attempt: state.open?.attempt ?? 0 };
}

/** The state after drafts that are about to be written. Their numbers are not known yet and do not matter to the fold. */
export function applyDrafts(state: RunState, drafts: readonly EventDraft[], atMs: number): RunState {
  let next = state;
  for (const draft of drafts) next = evolve(next, stamp(next, draft, atMs));
  return next;
}

function stamp(state: RunState, draft: EventDraft, at: number): RunEvent {
  return { v: 1, seq: 0, runId: state.runId, sessionId: state.sessionId, at, leg: state.leg, ...draft };
}

function resultOf(state: RunState, ending: Ending, nowMs: number): RunResultData {
  const output = outputOf(state);
  const answered = ending.status === 'completed' && output !== '';
  const partial = answered ? null : state.abandonedText || (output === '' ? (state.last?.text ?? '') : '');
  const fallback = state.switchReason !== null;
  return {
    runId: state.runId,
    sessionId: state.sessionId,
    requestId: state.requestId,
    status: ending.status,
    stopReason: stopReasonOf(ending),
    output,
    partialOutput: partial === '' ? null : partial,
    usage: state.usage,
    usageIncomplete: state.usageIncomplete,
    error: ending.status === 'failed' ? ending.error : null,
    pending: [],
    steps: state.step,
    attempts: state.attempts,
    model: { requested: state.requested, served: state.served, fallback, reason: state.switchReason },
    unstopped: ending.status === 'cancelled' ? (ending.unstopped ?? []) : [],
    startedAtMs: state.startedAtMs,
    endedAtMs: nowMs,
  };
}

function stopReasonOf(ending: Ending): StopReason | null {
  switch (ending.status) {
    case 'completed':
      return ending.stopReason;
    case 'cancelled':
      return 'cancelled';
    case 'failed':
      return null;
  }
}

/** Text of the answer: the last accepted reply whose calls, if it has any, were not run (E-061). */
function outputOf(state: RunState): string {
  const { last } = state;
  const answers = last !== null && last.finishReason !== null && (last.calls === 0 || last.callsNotRun);
  return state.answerPieces + (answers ? last.text : '');
}
