import { toUhpRule } from '../../protocol/uhp/rule.ts';
import { listRules } from '../../tasks/read-rules.ts';
import { revokeRule } from '../../tasks/revoke-rule.ts';
import type { Services } from '../../tasks/services.ts';
import { pageOf, queryOf } from '../request-fields.ts';
import { idOf, type Route } from '../route.ts';

/** Remembered decisions (UR-15, UR-16). */
export function ruleRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/reins/rules',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call) {
            const query = { ...pageOf(call), session: queryOf(call, 'session') ?? null };
            const { rules, next } = await listRules(services, call.caller.principal, query);
            return { rules: rules.map(toUhpRule), next_cursor: next };
          },
        },
      },
    },
    {
      path: '/v1/reins/rules/:id',
      verbs: {
        DELETE: {
          scope: 'tasks',
          audit: 'rule.revoke',
          async handle(call) {
            await revokeRule(services, call.caller.principal, idOf(call));
            return { id: idOf(call), deleted: true };
          },
        },
      },
    },
  ];
}
