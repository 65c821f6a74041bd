// A PostgreSQL of the benchmark's own, as it comes: default settings, synced to the disk, on loopback. It counts what it costs.

import { freePort } from '../test/support/free-port.ts';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';

/** Since some moment; what counts is the difference of two. */
export interface DatabaseUsage {
  /** User and system time of all its processes. */
  readonly cpuMicros: number;
  /** Those that write. */
  readonly transactions: number;
  readonly walBytes: number;
}

export interface LogSize {
  readonly rows: number;
  readonly events: number;
  /** Bodies as they are written; what they take up on the disk, with indexes, once compressed. */
  readonly textBytes: number;
  readonly tableBytes: number;
}

export interface BenchDatabase extends AsyncDisposable {
  readonly url: string;
  usage(): Promise<DatabaseUsage>;
  /** The events of all runs. */
  logSize(): Promise<LogSize>;
  /** Of all servers that work on it. */
  connections(): Promise<number>;
}

export interface Cluster extends AsyncDisposable {
  /** A new database that holds nothing. */
  database(): Promise<BenchDatabase>;
}

/** Null: there is none on this machine, or what it costs cannot be read here. */
export async function startCluster(): Promise<Cluster | null> {
  const programs = globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1);
  if (programs === undefined || process.platform !== 'linux') return null;
  const [folder, port] = [mkdtempSync(join(tmpdir(), 'reins-bench-postgres-')), await freePort()];
  // It refuses to work for root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) execFileSync('chown', ['postgres', folder]);
  const asUser = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
  const commandOf = (name: string, args: readonly string[]) => [...asUser, join(programs, name), '-D', folder, ...args];
  const init = commandOf('initdb', ['-U', 'reins', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8']);
  execFileSync('env', init, { cwd: folder, stdio: 'pipe' });
  const args = ['-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1'];
  const server = spawn('env', commandOf('postgres', args), { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const over = once(server, 'exit');
  await ready(server.stderr);
  const urlOf = (name: string) => `postgres://reins@127.0.0.1:${port}/${name}`;
  const administrator = await connect(urlOf('postgres'));
  let databases = 0;
  return {
    async database() {
      databases += 1;
      const name = `bench_${databases}`;
      await administrator.query(`CREATE DATABASE ${name}`);
      return openDatabase(urlOf(name), server.pid ?? 0);
    },
    async [Symbol.asyncDispose]() {
      await administrator.end();
      server.kill('SIGQUIT'); // Nobody wants it in order any more.
      await over;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Reads on afterwards, so that it never waits for somebody who does. */
async function ready(output: NodeJS.ReadableStream): Promise<void> {
  const lines = createInterface({ input: output });
  const isReady = new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => line.includes('ready to accept connections') && resolve());
    lines.on('close', () => reject(new Error('PostgreSQL did not start.')));
  });
  await isReady;
}

const sizeOfLog = `
  SELECT count(*) AS rows, coalesce(sum(last_seq - first_seq + 1), 0) AS events,
    coalesce(sum(octet_length(body)), 0) AS "textBytes", pg_total_relation_size('event_batches') AS "tableBytes"
  FROM event_batches`;
// Each write has a number; the log of writes is counted in bytes.
const usageSoFar = `
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS transactions, pg_current_wal_lsn() - '0/0'::pg_lsn AS "walBytes"`;
const connectionsOfServers = `
  SELECT count(*) AS count FROM pg_stat_activity WHERE application_name = 'reins' AND datname = current_database()`;

async function openDatabase(url: string, pid: number): Promise<BenchDatabase> {
  // Kept, so that looking costs no process.
  const client = await connect(url);
  const figures = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {};
  return {
    url,
    async usage() {
      const { transactions, walBytes } = await figures(usageSoFar);
      return { cpuMicros: cpuOfTree(pid), transactions: Number(transactions), walBytes: Number(walBytes) };
    },
    async logSize() {
      const { rows, events, textBytes, tableBytes } = await figures(sizeOfLog);
      return {
        rows: Number(rows),
        events: Number(events),
        textBytes: Number(textBytes),
        tableBytes: Number(tableBytes),
      };
    },
    connections: async () => Number((await figures(connectionsOfServers))['count']),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  return client;
}

const microsOfTick = 10_000;

/** With its children, and those of them that have ended. */
export function cpuOfTree(pid: number): number {
  const fields = readProc(`${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  const children = readProc(`${pid}/task/${pid}/children`).split(' ').filter(Boolean);
  return children.reduce((sum, child) => sum + cpuOfTree(Number(child)), ticks * microsOfTick);
}

/** Nothing of a process that has ended meanwhile: its parent counts it from now on. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'latin1');
  } catch {
    return '';
  }
}
