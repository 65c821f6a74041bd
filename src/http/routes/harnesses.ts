import { listHarnesses, readHarness } from '../../tasks/read-harnesses.ts';
import type { Services } from '../../tasks/services.ts';
import { idOf, type Route } from '../route.ts';
import { harnessAnswer } from './harness-answer.ts';
import { harnessCreation, harnessWrites } from './harness-writes.ts';

export function harnessRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/harnesses',
      verbs: {
        GET: {
          scope: 'read',
          async handle({ caller }) {
            const views = await listHarnesses(services, caller.principal);
            return { harnesses: views.map(harnessAnswer) };
          },
        },
        POST: harnessCreation(services),
      },
    },
    {
      path: '/v1/harnesses/:id',
      verbs: {
        GET: {
          scope: 'read',
          handle: async (call) => harnessAnswer(await readHarness(services, call.caller.principal, idOf(call))),
        },
        ...harnessWrites(services),
      },
    },
  ];
}
