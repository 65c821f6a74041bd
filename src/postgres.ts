// `reins/postgres`: the store of several machines for programs, as the driver `{ kind: 'store', store }` of a runtime. Needs `pg`.

import { openPostgres as open, type PostgresOptions } from './stores/postgres/open-postgres.ts';
import { systemClock } from './system.ts';
import type { Store } from './stores/store.ts';

/**
 * Makes the tables where there are none.
 * @throws SchemaError  The database was written by a newer Reins.
 * @throws StorageError  It cannot be reached, or is no such database.
 */
export function openPostgres(options: Omit<PostgresOptions, 'clock' | 'onStatement'>): Promise<Store> {
  return open({ ...options, clock: systemClock });
}
