// What to do next, from the state alone: pure, so that every driver decides alike and a crash is continued by asking again.
//
// N1. Budgets are looked at before every model call, in one order; the first that is spent ends the run (E-422).
// N2. An answer ends the run unless somebody has spoken since (E-661), or it is cut, paused or empty and may be gone on
//     with: each kind of going on has its own limit (E-400 to E-408).
// N3. While one call of a batch waits for a person the whole batch waits (E-525).

import { spentBudget, outputTokensLeft } from '../core/budgets.ts';
import {
  isOpen,
  type CallState,
  type LastStep,
  type OpenStep,
  type PendingEntry,
  type RunState,
} from '../core/run-state.ts';
import { lapsOf } from './loop-guard.ts';
import type { BudgetReached, Todo } from '../core/run-event.ts';
import type { RunConfig } from '../core/run-config.ts';
import type { Ending, Park } from '../core/closing.ts';
import type { ErrorInfo, StopReason } from '../core/outcome.ts';

/** What of a run's state is looked at here: of what models and people have written, only whether it is there (E-872). */
export interface Outline extends Pick<
  RunState,
  'limits' | 'usage' | 'budget' | 'toolRounds' | 'countedSteps' | 'recoveries' | 'recentCalls'
> {
  readonly open: OpenOutline | null;
  readonly last: Pick<LastStep, 'purpose' | 'finishReason' | 'text' | 'calls' | 'empty'> | null;
  readonly pending: readonly Pick<PendingEntry, 'status'>[];
  readonly unread: readonly unknown[];
  readonly todos: readonly Pick<Todo, 'status'>[] | null;
  readonly config: Pick<RunConfig, 'planning'> | null;
  readonly result: object | null;
}

interface OpenOutline extends Pick<OpenStep, 'purpose' | 'attempt' | 'stage' | 'finishReason' | 'ranTools' | 'usage'> {
  readonly calls: readonly { readonly progress: Pick<CallState['progress'], 'at'> }[];
}

export type RefusalReason = 'max-tokens' | 'refusal' | 'tool-rounds' | 'final-answer' | 'pause-turn';
/** What the engine says in the user's place (E-409). */
export type EnginePurpose = 'continue' | 'nudge' | 'todo-reminder' | 'final-answer';

export type Command =
  | {
      readonly do: 'open-step';
      readonly purpose: OpenStep['purpose'];
      readonly say: EnginePurpose | null;
      readonly budget: BudgetReached | null;
    }
  /** `notBeforeMs`: the wait of a retry, possibly begun by an owner that is gone (E-214). */
  | { readonly do: 'call-model'; readonly attempt: number; readonly notBeforeMs: number | null }
  | { readonly do: 'refuse-calls'; readonly why: RefusalReason; readonly budget: BudgetReached | null }
  | { readonly do: 'run-tools' }
  | { readonly do: 'collect-tools' }
  | { readonly do: 'park'; readonly park: Park }
  | { readonly do: 'finish'; readonly ending: Ending }
  | { readonly do: 'none' };

const mostPauses = 5;
const mostEmptyReplies = 2;

export function decide(state: Outline): Command {
  if (state.result !== null) return { do: 'none' };
  return state.open === null ? betweenSteps(state) : insideStep(state, state.open);
}

function insideStep(state: Outline, open: OpenOutline): Command {
  switch (open.stage.at) {
    case 'calling':
      return { do: 'call-model', attempt: open.attempt, notBeforeMs: null };
    case 'backoff': {
      const ending = spentBudget(state);
      if (ending !== null) return { do: 'finish', ending };
      return { do: 'call-model', attempt: open.attempt, notBeforeMs: open.stage.untilMs };
    }
    case 'accepted':
      return afterReply(state, open);
  }
}

function afterReply(state: Outline, open: OpenOutline): Command {
  if (open.calls.every(({ progress }) => progress.at === 'answered')) return { do: 'collect-tools' };
  if (state.pending.some(isOpen)) return { do: 'park', park: { status: 'awaiting-input' } };
  const why = reasonToRefuse(state, open);
  if (why === null) return { do: 'run-tools' };
  return { do: 'refuse-calls', why, budget: why === 'tool-rounds' ? roundsReached(state) : null };
}

/** One budget ends the run: another that is spent as well, and comes before this one, is told of instead (E-422). */
function roundsReached(state: Outline): BudgetReached | null {
  const { maxToolRounds: limit } = state.limits;
  if (limit === null || state.budget !== null || spentBudget(state) !== null) return null;
  return { budget: 'tool-rounds', limit, used: state.toolRounds, then: 'stop' };
}

/** Why the calls of an accepted reply must not run: cut or refused replies, spent rounds, a last word without tools. */
function reasonToRefuse(state: Outline, open: OpenOutline): RefusalReason | null {
  const reason = open.finishReason;
  if (reason === 'max-tokens' || reason === 'pause-turn') return reason;
  if (reason === 'refusal' || reason === 'safety') return 'refusal';
  if (open.purpose === 'final-answer') return 'final-answer';
  const { maxToolRounds } = state.limits;
  return maxToolRounds !== null && !open.ranTools && state.toolRounds >= maxToolRounds ? 'tool-rounds' : null;
}

function betweenSteps(state: Outline): Command {
  const { last } = state;
  if (last !== null) {
    const ending = endingAfter(state, last);
    if (ending !== null) return { do: 'finish', ending };
  }
  const spent = spentBudget(state);
  if (spent !== null) return { do: 'finish', ending: spent };
  const limited = last !== null && last.calls > 0 ? loopEnd(state) : null;
  return limited ?? stepLimit(state) ?? nextStep(state, last);
}

/** How the next step begins: plain, or with a word of the engine about the reply before (N2). */
function nextStep(state: Outline, last: Outline['last']): Command {
  const step = (purpose: 'reply' | 'continuation', say: EnginePurpose | null): Command => ({
    do: 'open-step',
    purpose,
    say,
    budget: null,
  });
  if (last === null || state.unread.length > 0) return step('reply', null);
  if (last.finishReason === 'pause-turn') return step('continuation', null);
  if (last.finishReason === 'max-tokens')
    return last.calls > 0
      ? step('reply', null)
      : last.text === ''
        ? step('reply', 'nudge')
        : step('continuation', 'continue');
  if (last.empty) return step('reply', 'nudge');
  return step('reply', last.calls === 0 ? 'todo-reminder' : null);
}

/** The run's end after its last reply; null: it goes on. */
function endingAfter(state: Outline, last: NonNullable<Outline['last']>): Ending | null {
  const limited = limitedEnding(state, last);
  if (limited !== null) return limited;
  if (state.unread.length > 0) return null;
  const reason = last.finishReason ?? 'other';
  if (reason === 'refusal' || reason === 'safety') return completed(reason);
  const { truncations, pauses, empties } = state.recoveries;
  if (reason === 'max-tokens') return truncations < state.limits.maxTruncationRecoveries ? null : completed(reason);
  if (reason === 'pause-turn') return pauses < mostPauses ? null : exhausted('The model paused too often.');
  if (last.empty)
    return empties < mostEmptyReplies ? null : exhausted('The model gave no answer, even when asked again.');
  return last.calls > 0 || mustRemind(state) ? null : completed(reason);
}

/** After the last word that a limit allowed nothing follows. */
function limitedEnding(state: Outline, last: NonNullable<Outline['last']>): Ending | null {
  if (last.purpose === 'final-answer') return completed(state.budget?.budget === 'loop' ? 'loop' : 'max-steps');
  if (state.budget?.budget === 'tool-rounds') return completed('max-steps');
  if (last.finishReason !== 'max-tokens') return null;
  const left = outputTokensLeft(state);
  return left !== null && left <= 0 ? spentBudget(state) : null;
}

function completed(stopReason: StopReason): Ending {
  return { status: 'completed', stopReason };
}

function exhausted(message: string): Ending {
  const error: ErrorInfo = { type: 'RecoveryExhaustedError', message, retryable: true };
  return { status: 'failed', error };
}

/** One reminder a run, where an answer leaves the task list open (E-408). */
function mustRemind(state: Outline): boolean {
  if (state.config?.planning !== true || state.recoveries.reminded) return false;
  return (state.todos ?? []).some(({ status }) => status !== 'completed');
}

function loopEnd(state: Outline): Command | null {
  const guard = state.limits.loopGuard;
  if (guard === null || guard.breakAfterLaps === null || state.budget !== null) return null;
  const laps = lapsOf(state.recentCalls, guard.maxPeriod);
  if (laps < guard.breakAfterLaps) return null;
  return lastWord({ budget: 'loop', limit: guard.breakAfterLaps, used: laps, then: 'final-answer' });
}

function lastWord(budget: BudgetReached): Command {
  return { do: 'open-step', purpose: 'final-answer', say: 'final-answer', budget };
}

/** Continuations are not counted: they have limits of their own (E-420). */
function stepLimit(state: Outline): Command | null {
  const { limits, last, countedSteps } = state;
  const continues = last?.finishReason === 'pause-turn' || (last?.finishReason === 'max-tokens' && last.calls === 0);
  if (limits.maxSteps === 0 || countedSteps < limits.maxSteps || continues) return null;
  const limit = limits.maxSteps;
  if (limits.finalAnswerOnLimit) return lastWord({ budget: 'steps', limit, used: countedSteps, then: 'final-answer' });
  const budget: BudgetReached = { budget: 'steps', limit, used: countedSteps, then: 'fail' };
  const message = `The run reached its limit of ${limit} steps.`;
  const error: ErrorInfo = { type: 'MaxStepsError', message, retryable: false };
  return { do: 'finish', ending: { status: 'failed', error, budget } };
}
