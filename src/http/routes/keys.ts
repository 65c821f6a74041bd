// Keys of all principals: UR-25.

import { createKey } from '../../tasks/create-key.ts';
import { createKey as makeKey, scopesOf } from '../../auth/keys.ts';
import { idOf, type Route } from '../route.ts';
import { listKeys } from '../../tasks/list-keys.ts';
import { parseNewKey, toUhpKey, type UhpKey } from '../../protocol/uhp/key.ts';
import { revokeKey } from '../../tasks/revoke-key.ts';
import type { Services } from '../../tasks/services.ts';

export function keyRoutes(services: Services): readonly Route[] {
  return [
    {
      path: '/v1/reins/keys',
      verbs: {
        GET: { scope: 'admin', handle: async () => ({ keys: (await listKeys(services)).map(toUhpKey) }) },
        POST: {
          scope: 'admin',
          audit: 'key.create',
          async handle({ request }): Promise<UhpKey> {
            const { scopes, name, principal } = parseNewKey(request.body);
            const named = name === null ? {} : { name };
            const { key, record } = makeKey({
              principal,
              scopes: scopesOf(scopes),
              atMs: services.clock.now(),
              ...named,
            });
            await createKey(services, record);
            return { ...toUhpKey(record), key };
          },
        },
      },
    },
    {
      path: '/v1/reins/keys/:id',
      verbs: {
        DELETE: {
          scope: 'admin',
          audit: 'key.revoke',
          handle: async (call) => ({ id: await revokeKey(services, idOf(call)), deleted: true }),
        },
      },
    },
  ];
}
