import { InvalidInputError } from '../core/errors.ts';
import { sessionIds } from '../core/ids.ts';
import type { RuleRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

export interface RuleQuery {
  /** May be invented, and then fits nothing. */
  readonly session: string | null;
  readonly limit: number;
  readonly cursor: string | null;
}

/** Remembered decisions, newest first (E-609). @throws InvalidInputError  The cursor is none of this list. */
export async function listRules(
  { store }: Services,
  principal: string,
  { session, limit, cursor }: RuleQuery,
): Promise<{ readonly rules: readonly RuleRecord[]; readonly next: string | null }> {
  const sessionId = session === null ? null : sessionIds.parse(session);
  if (sessionId === undefined) return { rules: [], next: null };
  const all = await store.rules({ principal, ...(sessionId === null ? {} : { sessionId }) });
  const at = cursor === null ? -1 : all.findIndex(({ ruleId }) => ruleId === cursor);
  if (cursor !== null && at === -1) throw new InvalidInputError('This cursor is none that this list gave.', 'cursor');
  const rules = all.slice(at + 1, at + 1 + limit);
  return { rules, next: at + 1 + limit < all.length ? (rules.at(-1)?.ruleId ?? null) : null };
}
