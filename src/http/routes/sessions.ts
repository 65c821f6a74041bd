import { cancelSession } from '../../tasks/cancel-task.ts';
import type { Services } from '../../tasks/services.ts';
import { idOf, type Route } from '../route.ts';

export function sessionRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/sessions/:id/cancel',
      verbs: {
        POST: { scope: 'tasks', handle: (call) => cancelSession(services, call.caller.principal, idOf(call)) },
      },
    },
  ];
}
