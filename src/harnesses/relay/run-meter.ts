// What the run that is at work has used of its session's lease, by the relay's own count, and whether it may ask again.
//
// M1. Every model call counts for one run, once: for the one at work when it was asked for, whoever asked – the runtime for
//     a reply, a title or a sub-agent, or a tool that has the lease (H-206).
// M2. What was asked for between two runs is the later one's. What is told of a call when its run is over is nobody's: the
//     runtime may have told of that reply itself.
// M3. A budget is looked at before a call, never in one: a call can pass it (E-421). The run's own budgets come before
//     those of the settings.
// M4. The log knows of replies; what of the count is beyond that belongs to no step, and is told once, with the last one.

import { addUsage, totalTokens, type Usage } from '../../core/usage.ts';
import { spentBudget } from '../../core/budgets.ts';
import type { BudgetReached } from '../../core/run-event.ts';
import type { Ending } from '../../core/closing.ts';
import type { RelayedCall } from './relayed-call.ts';
import type { RunState } from '../../core/run-state.ts';

/** What one run may use at most through its lease, whatever it was given itself; null: no limit. */
export interface LeaseBudget {
  readonly dollars: number | null;
  readonly tokens: number | null;
  readonly requests: number | null;
}
export const noLeaseBudget: LeaseBudget = { dollars: null, tokens: null, requests: null };

/** The lease's side. */
export interface CallMeter {
  asked(request: number): void;
  /** Looked at before each call that is let through; true: refuse it. */
  refuses(): boolean;
  admitted(): void;
  ended(call: RelayedCall): void;
}

/** The run's side. */
export interface RunMeter extends CallMeter {
  /** A run begins, or goes on in the same process. */
  begin(state: RunState): void;
  /** How the run ends, once a call of it was refused for a spent budget; null: none was. */
  readonly cut: Ending | null;
  /**
   * What was used that the log does not know (M4). May be asked again, with what it knows by then.
   * @param known  By the log, of the whole run; null: nothing.
   */
  beyond(known: Usage | null): Usage | null;
}

interface Count {
  readonly usage: Usage | null;
  readonly dollars: number;
  readonly requests: number;
}
const nothing: Count = { usage: null, dollars: 0, requests: 0 };

export function createRunMeter(budget: LeaseBudget = noLeaseBudget): RunMeter {
  /** Of open calls: how often the run's use had been told when they were asked for. */
  const open = new Map<number, number>();
  let run: Pick<RunState, 'runId' | 'limits' | 'usage'> | null = null;
  let cut: Ending | null = null;
  let count = nothing;
  /** Of calls that were asked for since the use was last told. */
  let late = nothing;
  let [told, firstOfRun] = [0, 0];

  function spent(): Ending | null {
    if (run === null) return null;
    const usage = addUsage(run.usage, count.usage);
    return spentBudget({ limits: run.limits, usage, open: null }) ?? spentLease(budget, count);
  }

  return {
    asked: (request) => void open.set(request, told),
    refuses() {
      cut = spent() ?? cut;
      return cut !== null;
    },
    admitted() {
      count = { ...count, requests: count.requests + 1 };
      late = { ...late, requests: late.requests + 1 };
    },
    ended({ request, usage, dollars }) {
      const askedAt = open.get(request) ?? told;
      open.delete(request);
      if (askedAt < firstOfRun) return; // M2
      const add = (to: Count): Count => ({
        ...to,
        usage: addUsage(to.usage, usage),
        dollars: to.dollars + (dollars ?? 0),
      });
      count = add(count);
      if (askedAt === told) late = add(late);
    },
    begin({ runId, limits, usage, open: step }) {
      cut = null;
      if (run?.runId === runId) return void (run = { ...run, limits });
      run = { runId, limits, usage: addUsage(usage, step?.usage ?? null) };
      [count, firstOfRun] = [late, told];
    },
    get cut() {
      return cut;
    },
    beyond(known) {
      told++;
      late = nothing;
      return usedBeyond(addUsage(run?.usage ?? null, count.usage), known);
    },
  };
}

function spentLease({ dollars, tokens, requests }: LeaseBudget, count: Count): Ending | null {
  const ends = (stopReason: 'max-cost' | 'max-total-tokens' | 'max-steps', reached: Omit<BudgetReached, 'then'>) =>
    ({ status: 'completed', stopReason, budget: { ...reached, then: 'stop' } }) as const;
  const used = count.usage === null ? 0 : (totalTokens(count.usage) ?? 0);
  if (dollars !== null && count.dollars >= dollars)
    return ends('max-cost', { budget: 'cost', limit: dollars, used: count.dollars });
  if (tokens !== null && used >= tokens) return ends('max-total-tokens', { budget: 'tokens', limit: tokens, used });
  if (requests !== null && count.requests >= requests)
    return ends('max-steps', { budget: 'steps', limit: requests, used: count.requests });
  return null;
}

/** Null: nothing. What is known of more is left as it is: a runtime may count what no call has told. */
function usedBeyond(all: Usage | null, known: Usage | null): Usage | null {
  if (all === null) return null;
  const beyond = (field: keyof Usage) => {
    const more = (all[field] ?? 0) - (known?.[field] ?? 0);
    return more > 0 ? more : null;
  };
  const usage = {
    inputTokens: beyond('inputTokens'),
    outputTokens: beyond('outputTokens'),
    cacheReadInputTokens: beyond('cacheReadInputTokens'),
    cacheCreationInputTokens: beyond('cacheCreationInputTokens'),
    thinkingTokens: beyond('thinkingTokens'),
  };
  return usage.inputTokens === null && usage.outputTokens === null ? null : usage;
}
