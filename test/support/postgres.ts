// A PostgreSQL of a test file's own, with a database for each test: real, on loopback, synced to the disk. It is started with the
// first database that is asked for. Where none is installed the tests say that they are skipped; REINS_REQUIRE_POSTGRES forbids that.

import { freePort } from './free-port.ts';
import { afterAll, describe } from 'vitest';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { once } from 'node:events';
import { openPostgres, type PostgresOptions, type PostgresStore } from '../../src/stores/postgres/open-postgres.ts';
import { systemClock } from '../../src/system.ts';
import { tmpdir } from 'node:os';
import pg from 'pg';

const programs = globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1) ?? null;
const isRequired = (process.env['REINS_REQUIRE_POSTGRES'] ?? '') !== '';

export interface Cluster extends AsyncDisposable {
  /** A new database with a store in it that holds nothing, or (`template0`) with nothing at all. */
  database(from?: 'template' | 'template0'): Promise<string>;
  /** The same one each time, emptied: for many short tests, one after the other. */
  emptied(): Promise<string>;
  /** As a crash: nothing is written any more, every connection is cut. With SIGINT: a fast stop, in order. */
  kill(how?: 'SIGQUIT' | 'SIGINT'): Promise<void>;
  start(): Promise<void>;
}

/** A suite with a PostgreSQL, which the whole of it shares. */
export function describeWithPostgres(name: string, suite: (cluster: () => Promise<Cluster>) => void): void {
  const isSkipped = programs === null && !isRequired;
  describe.skipIf(isSkipped)(isSkipped ? `${name} (skipped: no PostgreSQL on this machine)` : name, () => {
    let started: Promise<Cluster> | null = null;
    afterAll(async () => (await started)?.[Symbol.asyncDispose]());
    suite(() => (started ??= startCluster()));
  });
}

export function openStore(url: string, options: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
  return openPostgres({ url, clock: systemClock, connections: 5, ...options });
}

/** As an operator would, beside all stores. */
export async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The one value that a statement gives, for who cannot wait for it. */
export function queryAtOnce(url: string, sql: string): string {
  return execFileSync(join(programs ?? '', 'psql'), ['-tAXc', sql, url], { encoding: 'utf8' }).trim();
}

export async function startCluster(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'reins-postgres-'));
  const port = await freePort();
  const url = `postgres://reins@127.0.0.1:${port}`;
  run('initdb', folder, ['-D', folder, '-U', 'reins', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']);
  let server: ChildProcess | null = null;
  async function start(): Promise<void> {
    // What is not synced at a commit is not synced by chance either.
    const settings = ['listen_addresses=127.0.0.1', 'wal_writer_delay=10s', 'recovery_init_sync_method=syncfs'].flatMap(
      (setting) => ['-c', setting],
    );
    const args = ['-D', folder, '-p', String(port), '-k', folder, ...settings];
    const [program, ...rest] = commandOf('postgres', args);
    server = spawn(program, rest, { cwd: folder, stdio: 'ignore' });
    while (!(await answers(`${url}/postgres`))) {
      if (server.exitCode !== null) throw new Error(`PostgreSQL does not start: it ended with ${server.exitCode}.`);
      await once(server, 'exit', { signal: AbortSignal.timeout(50) }).catch(() => {});
    }
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (server === null || server.exitCode !== null || server.signalCode !== null) return;
    const over = once(server, 'exit');
    server.kill(signal);
    await over;
  }
  await start();
  // Each test copies it: nothing is made again that is the same for all.
  await query(`${url}/postgres`, 'CREATE DATABASE template');
  await (await openStore(`${url}/template`, { listenUrl: null }))[Symbol.asyncDispose]();
  let databases = 0;
  let shared: Promise<string> | null = null;
  async function database(from = 'template'): Promise<string> {
    const name = `test_${++databases}`;
    await query(`${url}/postgres`, `CREATE DATABASE ${name} TEMPLATE ${from}`);
    return `${url}/${name}`;
  }
  return {
    start,
    kill: (how = 'SIGQUIT') => end(how),
    database,
    async emptied() {
      const name = await (shared ??= database());
      await query(name, emptyAll);
      return name;
    },
    async [Symbol.asyncDispose]() {
      await end('SIGQUIT'); // nobody wants it in order any more
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Cheaper by far than truncating, and than a new database, which is some hundred files. */
const emptyAll = `
  SET session_replication_role = replica;
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_versions' LOOP
      EXECUTE 'DELETE FROM ' || name;
    END LOOP;
  END $$`;

/** It refuses to work for root. */
function commandOf(name: string, args: readonly string[]): [string, ...string[]] {
  if (programs === null) throw new Error('REINS_REQUIRE_POSTGRES is set, and there is no PostgreSQL on this machine.');
  const program = join(programs, name);
  if (process.getuid?.() !== 0) return [program, ...args];
  return ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', program, ...args];
}

function run(name: string, folder: string, args: readonly string[]): void {
  if (process.getuid?.() === 0) execFileSync('chown', ['postgres', folder]);
  const [program, ...rest] = commandOf(name, args);
  execFileSync(program, rest, { cwd: folder, stdio: 'pipe' });
}

async function answers(url: string): Promise<boolean> {
  return query(url, 'SELECT 1').then(
    () => true,
    () => false,
  );
}
