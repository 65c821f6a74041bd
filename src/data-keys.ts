// The keys of a data folder, for the command line: a server may be working on it or not.

import { createKey } from './tasks/create-key.ts';
import { createKey as makeKey, scopesOf } from './auth/keys.ts';
import { listKeys } from './tasks/list-keys.ts';
import { openHarnesses } from './open-harnesses.ts';
import { openMadeStore } from './open-store.ts';
import { parseNewKey, toUhpKey, type NewKey, type UhpKey } from './protocol/uhp/key.ts';
import { revokeKey } from './tasks/revoke-key.ts';
import { systemClock, systemRandom } from './system.ts';
import type { Config } from './config.ts';

/** As the API does it (UR-25). */
export interface DataKeys extends AsyncDisposable {
  /** @throws InvalidInputError */
  create(wanted: NewKey): Promise<UhpKey>;
  list(): Promise<readonly UhpKey[]>;
  /** @throws NotFoundError */
  revoke(id: string): Promise<void>;
}

/** @throws ConfigurationError  No server was ever started on the folder. @throws StorageError */
export async function openDataKeys(config: Config): Promise<DataKeys> {
  const parts = { store: await openMadeStore(config), clock: systemClock, random: systemRandom };
  return {
    async create(wanted) {
      const { principal, scopes, name } = parseNewKey(wanted);
      const facts = {
        principal,
        scopes: scopesOf(scopes),
        atMs: systemClock.now(),
        ...(name === null ? {} : { name }),
      };
      const { key, record } = makeKey(facts);
      await using installed = openHarnesses(config);
      await createKey({ ...parts, harnesses: installed.registry }, record);
      return { ...toUhpKey(record), key };
    },
    list: async () => (await listKeys(parts)).map(toUhpKey),
    revoke: async (id) => void (await revokeKey(parts, id)),
    [Symbol.asyncDispose]: () => parts.store[Symbol.asyncDispose](),
  };
}
