import { toHarnessModels, toModelCatalog } from '../../protocol/uhp/models.ts';
import { modelCatalogue, modelsOfHarness } from '../../tasks/read-harnesses.ts';
import type { Services } from '../../tasks/services.ts';
import { idOf, type Route } from '../route.ts';

export function modelRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/models',
      verbs: {
        GET: {
          scope: 'read',
          handle: async ({ caller }) => toModelCatalog(await modelCatalogue(services, caller.principal)),
        },
      },
    },
    {
      path: '/v1/harnesses/:id/models',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call) {
            const { record, backend } = await modelsOfHarness(services, call.caller.principal, idOf(call));
            return toHarnessModels(record.harnessId, backend, record.defaultModel);
          },
        },
      },
    },
  ];
}
