import { pageOf, queryOf } from '../request-fields.ts';
import { readAudit } from '../../tasks/read-audit.ts';
import { toUhpAuditEntry } from '../../protocol/uhp/audit.ts';
import type { Route } from '../route.ts';
import type { Services } from '../../tasks/services.ts';

/** Who did what (UR-42). */
export function auditRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/reins/audit',
      verbs: {
        GET: {
          scope: 'admin',
          async handle(call) {
            const [principal, action] = [queryOf(call, 'principal'), queryOf(call, 'action')];
            const { entries, next } = await readAudit(services, {
              ...pageOf(call),
              ...(principal === undefined ? {} : { principal }),
              ...(action === undefined ? {} : { action }),
            });
            return { entries: entries.map(toUhpAuditEntry), next_cursor: next };
          },
        },
      },
    },
  ];
}
