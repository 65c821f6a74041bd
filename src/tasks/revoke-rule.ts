import { findRule } from './find-in-scope.ts';
import { NotFoundError } from '../core/errors.ts';
import type { Services } from './services.ts';

/** Takes a remembered decision back: what it allowed is asked about again. @throws NotFoundError */
export async function revokeRule(services: Services, principal: string, ruleId: string): Promise<void> {
  const rule = await findRule(services, principal, ruleId);
  if (!(await services.store.deleteRule(rule.ruleId))) throw new NotFoundError('rule');
}
