// What to do next, from the state alone: pure, so that every driver decides alike and a crash is continued by asking again.

import type { BudgetReached } from '../core/run-event.ts';
import type { Ending } from '../core/closing.ts';
import type { LastStep, OpenStep, RunState } from '../core/run-state.ts';

export type RefusalReason = 'max-tokens' | 'refusal' | 'tool-rounds' | 'final-answer';

export type Command =
  | { readonly do: 'open-step'; readonly purpose: OpenStep['purpose']; readonly budget: BudgetReached | null }
  /** `notBeforeMs`: the wait of a retry, possibly begun by an owner that is gone (E-214). */
  | { readonly do: 'call-model'; readonly attempt: number; readonly notBeforeMs: number | null }
  | { readonly do: 'refuse-calls'; readonly why: RefusalReason; readonly budget: BudgetReached | null }
  | { readonly do: 'dispatch-tools' }
  | { readonly do: 'collect-tools' }
  | { readonly do: 'finish'; readonly ending: Ending }
  | { readonly do: 'none' };

export function decide(state: RunState): Command {
  if (state.result !== null) return { do: 'none' };
  return state.open === null ? betweenSteps(state) : insideStep(state, state.open);
}

function insideStep(state: RunState, open: OpenStep): Command {
  switch (open.stage.at) {
    case 'calling':
      return { do: 'call-model', attempt: open.attempt, notBeforeMs: null };
    case 'backoff':
      return { do: 'call-model', attempt: open.attempt, notBeforeMs: open.stage.untilMs };
    case 'accepted':
      return afterReply(state, open);
  }
}

function afterReply(state: RunState, open: OpenStep): Command {
  if (open.calls.every(({ progress }) => progress.at === 'answered')) return { do: 'collect-tools' };
  const why = reasonToRefuse(state, open);
  if (why === null) return { do: 'dispatch-tools' };
  const limit = state.limits.maxToolRounds;
  const spent = why === 'tool-rounds' && limit !== null && state.budget === null;
  const budget: BudgetReached = { budget: 'tool-rounds', limit: limit ?? 0, used: state.toolRounds, then: 'stop' };
  return { do: 'refuse-calls', why, budget: spent ? budget : null };
}

/** Why the calls of an accepted reply must not run: cut or refused replies, spent rounds, a last word without tools. */
function reasonToRefuse(state: RunState, open: OpenStep): RefusalReason | null {
  if (open.finishReason === 'max-tokens') return 'max-tokens';
  if (open.finishReason === 'refusal' || open.finishReason === 'safety') return 'refusal';
  if (open.purpose === 'final-answer') return 'final-answer';
  const { maxToolRounds } = state.limits;
  return maxToolRounds !== null && !open.ranTools && state.toolRounds >= maxToolRounds ? 'tool-rounds' : null;
}

function betweenSteps(state: RunState): Command {
  const { last, limits } = state;
  if (last !== null) {
    const ending = endingAfter(state, last);
    if (ending !== null) return { do: 'finish', ending };
  }
  const tokens = outputTokensLeft(state);
  if (tokens !== null && tokens <= 0) {
    const limit = limits.maxOutputTokens ?? 0;
    const budget: BudgetReached = { budget: 'output-tokens', limit, used: limit - tokens, then: 'stop' };
    return { do: 'finish', ending: { status: 'completed', stopReason: 'max-tokens', budget } };
  }
  if (limits.maxSteps > 0 && state.step >= limits.maxSteps) return stepLimit(state);
  return { do: 'open-step', purpose: 'reply', budget: null };
}

function endingAfter(state: RunState, last: LastStep): Ending | null {
  if (last.purpose === 'final-answer' || state.budget?.budget === 'tool-rounds')
    return { status: 'completed', stopReason: 'max-steps' };
  if (last.empty) return { status: 'completed', stopReason: 'empty-reply' };
  const reason = last.finishReason ?? 'other';
  if (reason === 'refusal' || reason === 'safety') return { status: 'completed', stopReason: reason };
  if (reason === 'max-tokens') return { status: 'completed', stopReason: reason, ...outputBudget(state) };
  return last.calls > 0 ? null : { status: 'completed', stopReason: reason };
}

/** A reply cut by the run's own budget says so; one cut by the model's limit has no budget to name. */
function outputBudget(state: RunState): { budget?: BudgetReached } {
  const left = outputTokensLeft(state);
  const limit = state.limits.maxOutputTokens;
  if (left === null || limit === null || left > 0) return {};
  return { budget: { budget: 'output-tokens', limit, used: limit - left, then: 'stop' } };
}

function stepLimit(state: RunState): Command {
  const limit = state.limits.maxSteps;
  if (state.limits.finalAnswerOnLimit) {
    const budget: BudgetReached = { budget: 'steps', limit, used: state.step, then: 'final-answer' };
    return { do: 'open-step', purpose: 'final-answer', budget };
  }
  const message = `The run reached its limit of ${limit} steps.`;
  return { do: 'finish', ending: { status: 'failed', error: { type: 'MaxStepsError', message, retryable: false } } };
}

/** What is left of the run's output budget by the provider's own figures; null = no budget (UD-03). */
export function outputTokensLeft(state: RunState): number | null {
  const { maxOutputTokens } = state.limits;
  return maxOutputTokens === null ? null : maxOutputTokens - (state.usage?.outputTokens ?? 0);
}
