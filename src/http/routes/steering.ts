import { parseSteer, toUhpMessage } from '../../protocol/uhp/steer.ts';
import { steerTask } from '../../tasks/steer-task.ts';
import type { Services } from '../../tasks/services.ts';
import { idOf, type Route } from '../route.ts';

/** A word to a task at work (UR-20). */
export function steeringRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/reins/responses/:id/steer',
      verbs: {
        POST: {
          scope: 'tasks',
          async handle(call) {
            const request = { responseId: idOf(call), message: parseSteer(call.request.body) };
            return toUhpMessage(await steerTask(services, call.caller.principal, request));
          },
        },
      },
    },
  ];
}
