import { DatabaseSync } from 'node:sqlite';
import { databaseOf } from './cluster-in-process.ts';
import { join } from 'node:path';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { openStore, queryAtOnce } from './postgres.ts';
import type { Store } from '../../src/stores/store.ts';

/** The store of a data folder, beside the servers that work on it. */
export async function openStoreOf(data: string): Promise<Store> {
  const url = databaseOf(data);
  return url === undefined ? openSqlite(join(data, 'reins.db')) : openStore(url, { listenUrl: null });
}

/** What a data folder holds, read beside the server that works on it: a refused request must not change it. */
export function countRows(data: string): { readonly runs: number; readonly sessions: number; readonly keys: number } {
  const count = (table: string) => Number(select(data, `SELECT count(*) AS n FROM ${table}`)[0]?.['n']);
  return { runs: count('runs'), sessions: count('sessions'), keys: count('idempotency') };
}

/** By its table, as it is kept: every row of every table, those of processes aside. */
export function rowsOf(data: string): ReadonlyMap<string, readonly Row[]> {
  const listing =
    databaseOf(data) === undefined
      ? "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
      : "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'";
  const names = select(data, listing).map(({ name }) => String(name));
  const tables = names.filter((name) => name !== 'owners' && name !== 'commits');
  return new Map(tables.map((table) => [table, select(data, `SELECT * FROM ${table}`)]));
}

type Row = Readonly<Record<string, unknown>>;

function select(data: string, sql: string): readonly Row[] {
  const url = databaseOf(data);
  if (url !== undefined) return JSON.parse(queryAtOnce(url, `SELECT coalesce(json_agg(t), '[]') FROM (${sql}) t`));
  using database = new DatabaseSync(join(data, 'reins.db'), { readOnly: true });
  return database.prepare(sql).all();
}
