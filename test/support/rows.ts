import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';

/** What a data folder holds, read beside the server that works on it: a refused request must not change it. */
export function countRows(data: string): { readonly runs: number; readonly sessions: number; readonly keys: number } {
  using database = new DatabaseSync(join(data, 'reins.db'), { readOnly: true });
  const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);
  return { runs: count('runs'), sessions: count('sessions'), keys: count('idempotency') };
}
