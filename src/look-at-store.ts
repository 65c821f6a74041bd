// The store of a server with these settings, for `reins doctor`. Reads only: servers may be at work on it.

import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { reasonOf } from './reason-of.ts';
import { schemaVersion } from './stores/sqlite/migrations.ts';
import { systemClock } from './system.ts';
import { well, wrong, type Finding } from './finding.ts';
import type { Config } from './config.ts';

const what = 'database';

export async function lookAtStore({ server, store }: Pick<Config, 'server' | 'store'>): Promise<Finding> {
  return store.databaseUrl === null ? lookAtFile(join(server.dataDir, 'reins.db')) : lookAtPostgres(store.databaseUrl);
}

function lookAtFile(path: string): Finding {
  // A server that kept nothing in it may have left it empty.
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0)
    return well(what, 'SQLite; is made at the first start.');
  try {
    using database = new DatabaseSync(path, { readOnly: true });
    const [first] = database.prepare('PRAGMA quick_check(1)').all();
    const answer = String(Object.values(first ?? {})[0]);
    if (answer !== 'ok') return wrong(what, `${path} is damaged (${answer}): put a backup back with reins import.`);
    const { version } = database.prepare('SELECT count(*) AS version FROM schema_versions').get() ?? {};
    return judge('SQLite; passes its check', { version: Number(version), latest: schemaVersion });
  } catch (cause) {
    return wrong(what, `${path} cannot be read: ${reasonOf(cause)}. Put a backup back with reins import.`);
  }
}

/** Its address holds a password and is not repeated. */
async function lookAtPostgres(url: string): Promise<Finding> {
  const loaded = await import('./stores/postgres/read-schema.ts').catch(() => null);
  if (loaded === null)
    return wrong(what, 'REINS_DATABASE_URL is set, and the package pg is not there: npm install pg.');
  try {
    const { server, version, latest, mayMakeTables } = await loaded.readSchema({ url, clock: systemClock });
    const store = `PostgreSQL ${server} of REINS_DATABASE_URL; answers`;
    if ((version ?? 0) < latest && !mayMakeTables)
      return wrong(what, `${store}, but its user may make no tables: let it own the database.`);
    if (version === null) return well(what, `${store}; its tables are made at the first start.`);
    return judge(store, { version, latest });
  } catch (cause) {
    const why = cause instanceof Error ? (cause.cause ?? cause) : cause;
    return wrong(what, `PostgreSQL of REINS_DATABASE_URL cannot be used: ${reasonOf(why)}.`);
  }
}

function judge(store: string, { version, latest }: { readonly version: number; readonly latest: number }): Finding {
  const told = `${store}; its schema is version ${version}`;
  if (version > latest) return wrong(what, `${told}, of a newer Reins: this one knows ${latest}.`);
  return well(what, version === latest ? `${told}.` : `${told}, which the next start brings to ${latest}.`);
}
