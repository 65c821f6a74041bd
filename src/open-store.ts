// Where a server keeps what it knows: a file in its data folder, or the PostgreSQL that the operator names, which servers on
// several machines share.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, StorageError } from './core/errors.ts';
import { loadPostgres } from './load-postgres.ts';
import { nearDataFolderHint } from './near-data-folder.ts';
import { openSqlite } from './stores/sqlite/open-sqlite.ts';
import { systemClock } from './system.ts';
import type { Config } from './config.ts';
import type { DataFolder } from './data-folder.ts';
import { refuseElsewhere } from './data-folder.ts';
import { silentLogger, type Logger } from './core/logger.ts';
import type { Store } from './stores/store.ts';

export interface ServerStore {
  readonly store: Store;
  /** Does it while no other server of the store does the like. */
  readonly alone: DataFolder['alone'];
}

/** Made where there is none. @throws ConfigurationError  It cannot be used. */
export async function openStore(config: Config, folder: DataFolder, logger: Logger): Promise<ServerStore> {
  const { databaseUrl } = config.store;
  if (databaseUrl !== null) return openDatabase(config.store, databaseUrl, logger);
  const store = await folder.alone(async () => naming(folder.databasePath, () => openSqlite(folder.databasePath)));
  return { store, alone: (work) => folder.alone(work) };
}

/** What a server has made before, for commands beside it. @throws ConfigurationError  No server was ever started. */
export async function openMadeStore(config: Config): Promise<Store> {
  const { databaseUrl } = config.store;
  if (databaseUrl !== null) return (await openDatabase(config.store, databaseUrl, silentLogger)).store;
  const { dataDir } = config.server;
  refuseElsewhere(dataDir);
  const path = join(dataDir, 'reins.db');
  if (existsSync(path)) return openSqlite(path);
  throw new ConfigurationError(
    `There is no data folder at ${dataDir}: start a server on it first, or name another with --data.${nearDataFolderHint(dataDir)}`,
  );
}

const sayAfterMs = 2_000;

async function openDatabase(
  { listenUrl, connections }: Pick<Config['store'], 'listenUrl' | 'connections'>,
  url: string,
  logger: Logger,
): Promise<ServerStore> {
  const { openPostgres } = await loadPostgres();
  const options = { url, connections, clock: systemClock, logger, ...(listenUrl === undefined ? {} : { listenUrl }) };
  const cancelTimer = systemClock.timer(sayAfterMs, () =>
    logger.warn('The database of REINS_DATABASE_URL does not answer yet; it is waited for half a minute.'),
  );
  // The address holds a password: it is not repeated.
  const store = await naming('of REINS_DATABASE_URL', () => openPostgres(options)).finally(cancelTimer);
  return { store, alone: (work) => store.alone(work) };
}

async function naming<T>(name: string, open: () => T | Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (cause) {
    if (!(cause instanceof StorageError)) throw cause;
    const reason = cause.cause instanceof Error ? cause.cause.message : cause.message;
    throw new ConfigurationError(`The database ${name} cannot be used: ${reason.replace(/\.$/, '')}.`, { cause });
  }
}
