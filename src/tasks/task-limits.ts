import { InvalidInputError } from '../core/errors.ts';
import { limitsOfPrices } from '../core/cost.ts';
import { type TaskFacts } from '../core/run-event.ts';
import { noBudgets, type Limits } from '../core/run-config.ts';
import type { HarnessRecord } from '../stores/harness-record.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { QuotaLeft } from './principal-limits.ts';
import type { Services } from './services.ts';
import type { TaskBody } from './task-body.ts';

/** @throws InvalidInputError */
export function refuseTimeout({ settings }: Services, { timeoutSeconds }: TaskBody): void {
  if (timeoutSeconds !== null && timeoutSeconds > settings.maxTimeoutSeconds)
    throw new InvalidInputError(`timeout_seconds may be at most ${settings.maxTimeoutSeconds}.`, 'timeout_seconds');
}

/**
 * Request value, else the harness's, else the server's default (UD-09); a harness's is held to the server's maximum. Costs are
 * reckoned by the prices of the model that was chosen, where they are known (E-064).
 */
export function limitsOf(
  { settings }: Pick<Services, 'settings'>,
  {
    body,
    harness,
    model,
  }: {
    readonly body: Pick<TaskBody, 'maxStep' | 'maxOutputTokens' | 'timeoutSeconds'>;
    readonly harness: Pick<HarnessRecord, 'maxStep' | 'timeoutSeconds'>;
    readonly model: ModelRef;
  },
): Limits {
  const maxSeconds = body.timeoutSeconds ?? harness.timeoutSeconds ?? settings.timeoutSeconds;
  return {
    ...noBudgets,
    ...limitsOfPrices(settings.pricesOf?.(model) ?? null),
    maxToolRounds: body.maxStep ?? harness.maxStep,
    maxOutputTokens: body.maxOutputTokens,
    maxSeconds: Math.min(maxSeconds, settings.maxTimeoutSeconds),
  };
}

/** The tighter of a task's own budgets and what is left of its principal's day; `quota` names those that the day gave (UR-53). */
export function withinQuota(
  limits: Limits,
  { tokens, dollars }: QuotaLeft,
): { readonly limits: Limits; readonly quota: NonNullable<TaskFacts['quota']> } {
  const { maxTotalTokens, maxCostDollars } = limits;
  const isTighter = (left: number | null, own: number | null): left is number =>
    left !== null && (own === null || left < own);
  const [byTokens, byCost] = [isTighter(tokens, maxTotalTokens), isTighter(dollars, maxCostDollars)];
  return {
    limits: {
      ...limits,
      maxTotalTokens: byTokens ? tokens : maxTotalTokens,
      maxCostDollars: byCost ? dollars : maxCostDollars,
    },
    quota: [...(byTokens ? ['tokens' as const] : []), ...(byCost ? ['cost' as const] : [])],
  };
}
