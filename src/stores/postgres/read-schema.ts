import type { Clock } from '../../core/clock.ts';
import { integer, text, truth } from '../rows/columns.ts';
import { openDatabase } from './database.ts';
import { schemaVersion } from './migrations.ts';

export interface SeenSchema {
  /** PostgreSQL's own version. */
  readonly server: string;
  /** Null: there are no tables. */
  readonly version: number | null;
  /** What this Reins brings it to. */
  readonly latest: number;
  readonly mayMakeTables: boolean;
}

const look = `SELECT split_part(current_setting('server_version'), ' ', 1) AS server, to_regclass('schema_versions') IS NOT NULL AS made,
  coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_make`;

/** Asks once, waits for nobody and makes nothing. @throws StorageError */
export async function readSchema({ url, clock }: { readonly url: string; readonly clock: Clock }): Promise<SeenSchema> {
  await using db = openDatabase({ url, clock, connections: 1, patienceMs: 0 });
  const row = (await db.get(look)) ?? {};
  const applied = truth(row, 'made') ? await db.get('SELECT count(*) AS version FROM schema_versions') : undefined;
  return {
    server: text(row, 'server'),
    version: applied === undefined ? null : integer(applied, 'version'),
    latest: schemaVersion,
    mayMakeTables: truth(row, 'may_make'),
  };
}
