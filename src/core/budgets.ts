import { addUsage } from './usage.ts';
import { costOf } from './cost.ts';
import type { BudgetReached } from './run-event.ts';
import type { Ending } from './closing.ts';
import type { OpenStep, RunState } from './run-state.ts';
import type { StopReason } from './outcome.ts';
import type { Usage } from './usage.ts';

type Spending = Pick<RunState, 'limits' | 'usage'> & { readonly open: Pick<OpenStep, 'usage'> | null };

/**
 * The end of a run whose cost, tokens or output tokens are spent, in this order (E-422); null while all last. Time has a
 * timer of its own. What is unknown is not counted: a budget can be passed by one call (E-421).
 */
export function spentBudget(state: Spending): Ending | null {
  const { limits } = state;
  const usage = usedSoFar(state);
  const { dollars } = costOf(usage, limits);
  if (limits.maxCostDollars !== null && dollars !== null && dollars >= limits.maxCostDollars)
    return spent('max-cost', { budget: 'cost', limit: limits.maxCostDollars, used: dollars, then: 'stop' });
  const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
  if (limits.maxTotalTokens !== null && tokens >= limits.maxTotalTokens)
    return spent('max-total-tokens', { budget: 'tokens', limit: limits.maxTotalTokens, used: tokens, then: 'stop' });
  const left = outputTokensLeft(state);
  const limit = limits.maxOutputTokens;
  if (left !== null && limit !== null && left <= 0)
    return spent('max-tokens', { budget: 'output-tokens', limit, used: limit - left, then: 'stop' });
  return null;
}

function spent(stopReason: StopReason, budget: BudgetReached): Ending {
  return { status: 'completed', stopReason, budget };
}

/** What is left of the run's output budget by the provider's own figures; null = no budget (UD-03). */
export function outputTokensLeft(state: Spending): number | null {
  const { maxOutputTokens } = state.limits;
  return maxOutputTokens === null ? null : maxOutputTokens - (usedSoFar(state)?.outputTokens ?? 0);
}

/** Given-up attempts of the open step included. */
function usedSoFar({ usage, open }: Spending): Usage | null {
  return addUsage(usage, open?.usage ?? null);
}
