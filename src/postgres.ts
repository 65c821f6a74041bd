// `reins/postgres`: the store of several machines for programs, as the driver `{ kind: 'store', store }` of a runtime. Needs `pg`.

import { loadPostgres } from './load-postgres.ts';
import { systemClock } from './system.ts';
import type { PostgresOptions } from './stores/postgres/open-postgres.ts';
import type { Store } from './stores/store.ts';

/**
 * Makes the tables where there are none.
 * @throws ConfigurationError  `pg` is not installed.
 * @throws SchemaError  The database was written by a newer Reins.
 * @throws StorageError  It cannot be reached, or is no such database.
 */
export async function openPostgres(options: Omit<PostgresOptions, 'clock' | 'onStatement'>): Promise<Store> {
  const { openPostgres: open } = await loadPostgres();
  return open({ ...options, clock: systemClock });
}
