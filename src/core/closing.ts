// The one way a run ends (E-564): whatever stopped it, every open call gets its start, completion and answer, the open step
// its end, and the log its `run-result`. Cancel, failure, budgets and recovery all close here, in every driver.
//
// C1. The result is computed from the state after all other closing events: it equals the fold of the log (E-134).
// C2. Order: decisions, answers, `step-finished`, `budget-reached`?, `error`?, `run-result` (E-131).
// C3. What still waits for a person when a run ends is decided `cancelled` first, then its call is closed (E-607). A run
//     that parks closes nothing: `parkRun`.
// C4. Manual calls that were in flight when the run was stopped stay in its `pending`, for the record (E-818).

import { approvalIds } from './ids.ts';
import { callEvents } from './call-events.ts';
import {
  evolve,
  isOpen,
  type CallProgress,
  type CallState,
  type OpenStep,
  type PendingEntry,
  type RunState,
} from './run-state.ts';
import { hashText } from './text.ts';
import { parsedOrText } from './json.ts';
import { resultOf } from './result-of-run.ts';
import { toolAnswer } from './tool-answer.ts';
import {
  executionKeyOf,
  type ApprovalDecided,
  type BudgetReached,
  type EventDraft,
  type PendingTool,
  type RunEvent,
  type ToolOutcome,
} from './run-event.ts';
import type { ErrorInfo, StopReason } from './outcome.ts';

export type Ending = EndingOf & {
  /** The run was parked: no call is under way whose usage is unknown. */
  readonly wasParked?: true;
};
type EndingOf =
  | { readonly status: 'completed'; readonly stopReason: StopReason; readonly budget?: BudgetReached }
  | { readonly status: 'cancelled'; readonly unstopped?: readonly string[] }
  | { readonly status: 'failed'; readonly error: ErrorInfo; readonly budget?: BudgetReached };

/** A leg that ends without ending the run: everything stays open for the next one (E-819). */
export type Park = { readonly status: 'awaiting-input' | 'paused' };

/** The run waits, for a person or to be resumed: the last event of its leg. */
export function parkRun(state: RunState, park: Park, nowMs: number): readonly EventDraft[] {
  const pending = state.pending.filter(isOpen).map(toPending);
  return [
    { type: 'run-result', data: resultOf(state, { ending: park, nowMs, pending }), step: state.step, attempt: 0 },
  ];
}

/** Everything that still has to be written for the run to have ended. */
export function closeRun(from: RunState, ending: Ending, nowMs: number): readonly EventDraft[] {
  const state = ending.wasParked === true ? notCalling(from, nowMs) : from;
  const position = { step: state.step, attempt: 0 };
  const drafts: EventDraft[] = state.pending
    .filter(isOpen)
    .map((entry) => decidedBy(entry, { by: 'engine', step: state.step, decision: 'cancelled' }));
  const pending = uncertainCalls(state, nowMs);
  if (state.open !== null) drafts.push(...closeStep(state, state.open, { ending, nowMs }));
  if (ending.status !== 'cancelled' && ending.budget !== undefined)
    drafts.push({ type: 'budget-reached', data: ending.budget, ...position });
  if (ending.status === 'failed') drafts.push({ type: 'error', data: ending.error, ...position });
  const closed = applyDrafts(state, drafts, nowMs);
  return [...drafts, { type: 'run-result', data: resultOf(closed, { ending, nowMs, pending }), ...position }];
}

/** The event that decides an entry. `step`: that of the run whose log it enters; a sub-agent's entry has its own (E-102). */
export function decidedBy(
  { approvalId, executionKey, kind }: PendingTool,
  { step, ...said }: Omit<ApprovalDecided, 'approvalId' | 'executionKey' | 'kind'> & { readonly step: number },
): EventDraft {
  return { type: 'approval-decided', data: { approvalId, executionKey, kind, ...said }, step, attempt: 0 };
}

/** Calls of the open step whose outcome nobody knows (C4). */
function uncertainCalls(state: RunState, nowMs: number): readonly PendingTool[] {
  return (state.open?.calls ?? []).flatMap(({ call, progress }): PendingTool[] => {
    const inFlight = progress.at === 'dispatched' && progress.replay === 'manual';
    const cutShort = (progress.at === 'returned' || progress.at === 'answered') && progress.outcome === 'unknown';
    if (!inFlight && !cutShort) return [];
    const { name, input } = progress;
    const known = inFlight ? progress : { toolAttempt: 1, argsDigest: '' };
    const { toolAttempt, argsDigest } = known;
    const request = { kind: 'recovery', call: { id: call.id, name, input }, replay: 'manual' } as const;
    return [pendingTool(state, { ...request, argsDigest, toolAttempt }, nowMs)];
  });
}

/** A request to a person, with an id that is the same whenever the same question arises from the same log. */
export function pendingTool(
  { runId, step, pending, config }: RunState,
  request: Pick<PendingTool, 'kind' | 'call' | 'argsDigest' | 'toolIdentity' | 'replay' | 'toolAttempt'>,
  nowMs: number,
): PendingTool {
  const { kind, call } = request;
  const executionKey = executionKeyOf(runId, step, call.id);
  const asked = pending.filter((entry) => entry.executionKey === executionKey).length;
  const seconds = config?.permissions?.expiresAfterSeconds ?? null;
  return {
    approvalId: approvalIds.make(`${runId.slice(5)}${step}${hashText(`${kind}:${call.id}`)}${asked || ''}`),
    ...request,
    executionKey,
    runId,
    step,
    status: kind === 'recovery' ? 'uncertain' : 'pending',
    requestedAtMs: nowMs,
    expiresAtMs: seconds === null ? null : nowMs + seconds * 1000,
  };
}

/** An entry as clients see it: what was said of it is an event of its own. */
function toPending({ decided: _decided, ...entry }: PendingEntry): PendingTool {
  return entry;
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
  return {
    type: 'step-finished',
    step: state.step,
    attempt: 0,
    data: {
      finishReason: open.finishReason,
      usage: open.usage,
      usageIncomplete: open.usageIncomplete || isCalling(open, nowMs),
      served: open.served,
      requested: open.requested,
      calls: open.calls.length,
      attempts: open.attempt,
      durationMs: Math.max(0, nowMs - open.startedAtMs),
    },
  };
}

/** The state for the end of a step whose open attempt has no call under way: nothing unknown was used by it. */
export function notCalling(state: RunState, nowMs: number): RunState {
  const { open } = state;
  if (open === null || open.stage.at === 'accepted') return state;
  return { ...state, open: { ...open, stage: { at: 'backoff', untilMs: nowMs + 1 }, shown: false } };
}

/** Whether a call is under way, which has used something that nobody has said: later attempts are not announced (E-214). */
function isCalling({ stage, shown }: OpenStep, nowMs: number): boolean {
  return stage.at === 'calling' || (stage.at === 'backoff' && (shown || stage.untilMs <= nowMs));
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
        outcome: progress.replay === 'manual' ? 'unknown' : 'cancelled',
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
  answer: { readonly outcome: ToolOutcome; readonly content: string; readonly isError?: boolean },
): readonly EventDraft[] {
  const { call, progress } = entry;
  const { outcome, content, isError = true } = answer;
  const begun = progress.at === 'written' ? { name: call.name, input: parsedOrText(call.arguments) } : progress;
  const events = callEvents(state, { id: call.id, name: begun.name, input: begun.input });
  const sent = progress.at === 'dispatched' ? progress : null;
  // Nobody here knows what a run that it started has used.
  const unknown = sent?.childRunId === undefined ? {} : { usageIncomplete: true };
  const complete = { outcome, toolAttempt: sent?.toolAttempt ?? 0, durationMs: 0, ...unknown, _raw: content };
  return [
    ...(progress.at === 'written' ? [events.start(false)] : []),
    events.complete(complete),
    events.answer({ content, isError }),
  ];
}

/** The answer to a call that came back before its owner was gone: from the stored result, without running it (E-532). */
export function answerReturned(
  state: RunState,
  { call }: CallState,
  { name, input, raw, outcome }: Extract<CallProgress, { at: 'returned' }>,
): EventDraft {
  return callEvents(state, { id: call.id, name, input }).answer({ ...toolAnswer(raw), isError: outcome !== 'ok' });
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
