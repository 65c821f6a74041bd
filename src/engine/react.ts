// From the outcome of an effect to the facts that are committed: pure, like all of the core (E-004).

import { addUsage } from '../core/usage.ts';
import { applyDrafts, closeRun, finishStep, notCalling } from '../core/closing.ts';
import { retryWaitMs, type RetryPolicy } from './policies.ts';
import { deadlineOf, type RunState } from '../core/run-state.ts';
import type { ErrorInfo } from '../core/outcome.ts';
import type { EventDraft, ResetReason } from '../core/run-event.ts';
import type { ModelFailure, ModelReply } from './model-outcome.ts';
import type { Usage } from '../core/usage.ts';

export interface ReactEnv {
  readonly nowMs: number;
  /** In [0, 1). */
  readonly fraction: number;
  readonly retry: RetryPolicy;
}

/** The reply is accepted: its whole texts, then the turn, and the end of the step where nothing is left to run (E-124). */
export function acceptReply(state: RunState, reply: ModelReply, nowMs: number): readonly EventDraft[] {
  const position = { step: state.step, attempt: state.open?.attempt ?? 1 };
  const { text, thinking, parts, calls, finishReason, rawFinishReason, usage, served } = reply;
  const empty = text === '' && calls.length === 0;
  const drafts: EventDraft[] = [];
  if (thinking !== '') drafts.push({ type: 'thinking-complete', data: thinking, ...position });
  if (text !== '') drafts.push({ type: 'text-complete', data: text, ...position });
  const turn = { finishReason, rawFinishReason, parts, calls, usage, usageIncomplete: usage === null, served };
  drafts.push({ type: 'turn-complete', data: empty ? { ...turn, empty } : turn, ...position });
  if (calls.length > 0) return drafts;
  const accepted = applyDrafts(state, drafts, nowMs);
  return accepted.open === null ? drafts : [...drafts, finishStep(accepted, accepted.open, nowMs)];
}

/** A failed attempt: another one after a wait, where the class and the budgets allow it, else the end of the run (E-207, E-210). */
export function reactToFailure(state: RunState, failure: ModelFailure, env: ReactEnv): readonly EventDraft[] {
  const attempt = state.open?.attempt ?? 1;
  const tooLong = (failure.retryAfterMs ?? 0) > env.retry.maxRetryAfterSeconds * 1000;
  const mayRetry = failure.retryAtOnce || (failure.class === 'transient' && !tooLong);
  if (!mayRetry || attempt >= attemptsAllowed(state, env.retry))
    return closeRun(keepUsage(state, failure, env), { status: 'failed', error: failure.error }, env.nowMs);
  const tried = attempt - uncounted(state);
  const { retryAfterMs } = failure;
  const retryInMs = failure.retryAtOnce
    ? 0
    : retryWaitMs(env.retry, { attempt: tried, retryAfterMs, fraction: env.fraction });
  // A wait that would end after the time budget is not begun (E-210).
  if (env.nowMs + retryInMs >= (deadlineOf(state) ?? Infinity))
    return endByTime(keepUsage(state, failure, env), env.nowMs);
  return [resetAttempt(state, { ...failure, retryInMs })];
}

function attemptsAllowed(state: RunState, retry: RetryPolicy): number {
  return retry.attempts + uncounted(state);
}

/** Attempts that use no retry budget: lost to crashes, to a request that was too long, or made in earlier legs (E-213). */
function uncounted({ open }: RunState): number {
  return open === null ? 0 : open.crashResets + open.overflowResets + open.earlierAttempts;
}

/** What the last attempt is known to have used is the step's; then no call is under way any more. */
function keepUsage(state: RunState, { usage }: ModelFailure, { nowMs }: ReactEnv): RunState {
  const { open } = state;
  if (open === null || usage === null) return state;
  return notCalling({ ...state, open: { ...open, usage: addUsage(open.usage, usage) } }, nowMs);
}

/** The attempt is given up and another will follow; committed before the wait (E-208). */
export function resetAttempt(
  state: RunState,
  why: {
    readonly reason: ResetReason;
    readonly retryInMs: number;
    readonly error?: ErrorInfo;
    readonly usage?: Usage | null;
  },
): EventDraft {
  const attempt = state.open?.attempt ?? 1;
  const data = {
    step: state.step,
    attempt,
    nextAttempt: attempt + 1,
    reason: why.reason,
    shown: state.open?.shown ?? false,
    retryInMs: why.retryInMs,
    ...(why.error === undefined ? {} : { error: why.error }),
    ...(why.usage === undefined || why.usage === null ? {} : { usage: why.usage }),
  };
  return { type: 'attempt-reset', step: state.step, attempt, data };
}

/** The time budget is spent: completed and limited, never failed (E-064). */
export function endByTime(state: RunState, nowMs: number): readonly EventDraft[] {
  const limit = state.limits.maxSeconds ?? 0;
  const used = Math.round((nowMs - state.startedAtMs - state.parkedMs) / 1000);
  const budget = { budget: 'time', limit, used, then: 'stop' } as const;
  return closeRun(state, { status: 'completed', stopReason: 'max-time', budget }, nowMs);
}
