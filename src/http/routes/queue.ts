import { parseQueuedTask, toQueue, toQueuedTask } from '../../protocol/uhp/queue.ts';
import { queueTask, readQueue, resumeQueue, unqueueTask } from '../../tasks/queue-task.ts';
import type { Services } from '../../tasks/services.ts';
import { hashBody } from '../hash-body.ts';
import { idOf, type Call, type Route, type Verb } from '../route.ts';

/** Follow-ups that wait for their session (UR-21 to UR-24). */
export function queueRoutes(services: Services): readonly Route[] {
  const removal: Verb = {
    scope: 'tasks',
    async handle(call) {
      const messageId = call.request.params['message'] ?? 'resume';
      await unqueueTask(services, call.caller.principal, { sessionId: idOf(call), messageId });
      return { id: messageId, deleted: true };
    },
  };
  return [
    {
      path: '/v1/reins/sessions/:id/queue',
      verbs: {
        GET: {
          scope: 'read',
          handle: async (call) => toQueue(await readQueue(services, call.caller.principal, idOf(call))),
        },
        POST: { scope: 'tasks', handle: (call) => addToQueue(services, call) },
      },
    },
    {
      path: '/v1/reins/sessions/:id/queue/:message',
      verbs: { DELETE: removal },
    },
    {
      path: '/v1/reins/sessions/:id/queue/resume',
      verbs: {
        // A message may have this name.
        DELETE: removal,
        POST: {
          scope: 'tasks',
          handle: async (call) => toQueue(await resumeQueue(services, call.caller.principal, idOf(call))),
        },
      },
    },
  ];
}

async function addToQueue(services: Services, call: Call): Promise<unknown> {
  const { task, messageId } = parseQueuedTask(call.request.body);
  const { bodyHashInput, ...body } = task;
  const followUp = { sessionId: idOf(call), body, bodyHash: hashBody(bodyHashInput), messageId };
  return toQueuedTask(await queueTask(services, call.caller.principal, followUp));
}
