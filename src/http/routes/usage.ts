import { toUhpUsageOf } from '../../protocol/uhp/principal-usage.ts';
import { usageOf } from '../../tasks/usage-of.ts';
import type { Route } from '../route.ts';
import type { Services } from '../../tasks/services.ts';

/** What the caller has used of what it may (UR-43). */
export function usageRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/reins/usage',
      verbs: {
        GET: {
          scope: 'read',
          handle: async ({ caller }) => toUhpUsageOf(caller.principal, await usageOf(services, caller.principal)),
        },
      },
    },
  ];
}
