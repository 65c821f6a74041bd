import { findRun } from '../../tasks/find-in-scope.ts';
import { pauseRun } from '../../tasks/pause-run.ts';
import { readResponse } from '../../tasks/read-response.ts';
import { RequestError } from '../../core/errors.ts';
import { resumeRun } from '../../tasks/resume-run.ts';
import type { Services } from '../../tasks/services.ts';
import { idOf, type Call, type Route } from '../route.ts';

/** A task comes to rest, and goes on (E-819). Each answers with the response as it stands then. */
export function pausingRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/reins/responses/:id/pause',
      verbs: {
        POST: {
          scope: 'tasks',
          async handle(call) {
            await pauseRun(services, call.caller.principal, idOf(call));
            return readResponse(services, call.caller.principal, idOf(call));
          },
        },
      },
    },
    {
      path: '/v1/reins/responses/:id/resume',
      verbs: { POST: { scope: 'tasks', handle: (call) => resume(services, call) } },
    },
  ];
}

async function resume(services: Services, call: Call): Promise<unknown> {
  const { principal } = call.caller;
  const { phase, control } = await findRun(services, principal, idOf(call));
  if (phase === 'active' && control === 'pause')
    throw new RequestError({
      status: 409,
      errorType: 'invalid_request_error',
      code: 'reins_task_pausing',
      message: 'This task is still coming to rest: what it had begun has not ended. Resume it when it is paused.',
    });
  await resumeRun(services, principal, idOf(call));
  return readResponse(services, principal, idOf(call));
}
