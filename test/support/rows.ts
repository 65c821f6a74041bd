import { DatabaseSync } from 'node:sqlite';
import { databaseOf } from './cluster-in-process.ts';
import { join } from 'node:path';
import { queryAtOnce } from './postgres.ts';

/** What a data folder holds, read beside the server that works on it: a refused request must not change it. */
export function countRows(data: string): { readonly runs: number; readonly sessions: number; readonly keys: number } {
  const url = databaseOf(data);
  if (url !== undefined) {
    const countThere = (table: string) => Number(queryAtOnce(url, `SELECT count(*) FROM ${table}`));
    return { runs: countThere('runs'), sessions: countThere('sessions'), keys: countThere('idempotency') };
  }
  using database = new DatabaseSync(join(data, 'reins.db'), { readOnly: true });
  const count = (table: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);
  return { runs: count('runs'), sessions: count('sessions'), keys: count('idempotency') };
}
