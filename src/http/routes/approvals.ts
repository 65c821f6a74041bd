// What waits for a person, and what was said (UR-10 to UR-14). Nothing here waits with it: a client that comes late finds it.

import { parseAnswer, parseDecide, parseResolve } from '../../protocol/uhp/approval.ts';
import { decideApproval, type Verdict } from '../../tasks/decide-approval.ts';
import { listApprovals, readApproval } from '../../tasks/read-approvals.ts';
import type { Services } from '../../tasks/services.ts';
import { pageOf, queryOf, wordOf } from '../request-fields.ts';
import { idOf, type Call, type Route } from '../route.ts';

const kinds = ['approval', 'question', 'recovery'] as const;
const statuses = [
  'open',
  'all',
  'pending',
  'approved',
  'denied',
  'answered',
  'expired',
  'cancelled',
  'uncertain',
  'resolved',
] as const;

export function approvalRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/reins/approvals',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call) {
            const kind = wordOf(call, 'kind', kinds);
            const { approvals, next } = await listApprovals(services, call.caller.principal, {
              ...pageOf(call),
              status: wordOf(call, 'status', statuses) ?? 'open',
              ...(kind === null ? {} : { kind }),
              session: queryOf(call, 'session') ?? null,
              response: queryOf(call, 'response') ?? null,
            });
            return { approvals, next_cursor: next };
          },
        },
      },
    },
    {
      path: '/v1/reins/approvals/:id',
      verbs: {
        GET: { scope: 'read', handle: (call) => readApproval(services, call.caller.principal, idOf(call)) },
      },
    },
    verdictRoute(services, 'decide', parseDecide),
    verdictRoute(services, 'answer', parseAnswer),
    verdictRoute(services, 'resolve', parseResolve),
  ];
}

function verdictRoute(services: Services, verb: Verdict['verb'], parse: (body: unknown) => Verdict): Route {
  const handle = (call: Call) => {
    const verdict = parse(call.request.body);
    return decideApproval(services, call.caller.principal, { approvalId: idOf(call), verdict });
  };
  return {
    path: `/v1/reins/approvals/:id/${verb}`,
    verbs: { POST: { scope: 'tasks', audit: `approval.${verb}`, handle } },
  };
}
