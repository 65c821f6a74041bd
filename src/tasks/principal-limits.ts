import type { Append } from '../stores/store.ts';
import type { EventDraft } from '../core/run-event.ts';

/** What the end of a run costs its principal: as far as anybody said what was used (UR-53). */
export function chargeOf(ending: readonly EventDraft[]): Pick<NonNullable<Append['end']>, 'spent'> {
  const last = ending.at(-1);
  if (last?.type !== 'run-result') return {};
  const { usage, cost } = last.data;
  const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
  return { spent: { tokens, dollars: cost?.dollars ?? 0 } };
}
