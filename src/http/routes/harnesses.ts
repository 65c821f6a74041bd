import { toUhpHarness, type UhpHarness } from '../../protocol/uhp/harness.ts';
import { listHarnesses, readHarness, type HarnessView } from '../../tasks/read-harnesses.ts';
import type { Services } from '../../tasks/services.ts';
import { idOf, type Route } from '../route.ts';

export function harnessRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/harnesses',
      verbs: {
        GET: {
          scope: 'read',
          async handle({ caller }) {
            const views = await listHarnesses(services, caller.principal);
            return { harnesses: views.map(toWire) };
          },
        },
      },
    },
    {
      path: '/v1/harnesses/:id',
      verbs: {
        GET: {
          scope: 'read',
          handle: async (call) => toWire(await readHarness(services, call.caller.principal, idOf(call))),
        },
      },
    },
  ];
}

function toWire({ record, label, capabilities }: HarnessView): UhpHarness {
  return toUhpHarness(record, { label, ...(capabilities === undefined ? {} : { capabilities: { ...capabilities } }) });
}
