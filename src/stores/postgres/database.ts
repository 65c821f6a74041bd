// A few connections to one PostgreSQL database, as little above `pg` as the store needs. Owns what is tried again and when a
// transaction counts as stored; which rows are locked in which order is said where that is done.
//
// T1. A transaction is stored once or not at all, whatever breaks: one whose connection is lost before its commit was sent is
//     tried again; of one whose commit was sent, the database is asked what became of it, by its number. A body may therefore
//     run more than once, and changes nothing but through its transaction.
// T2. What cannot be reached is waited for, `patienceMs` long: a restart of the database is a pause and no failure.
// T3. Each statement sees what was committed before it began, and one that had to wait for a row sees the newest version of
//     that row, but nothing else anew. So who needs to look at more locks first, and looks in the next statement.
// T4. Nothing outlives a transaction on its connection, no prepared statement and no setting: a pooler may hand it on.
// T5. Text that PostgreSQL cannot hold, a NUL, is kept as U+FFFD, as UTF-8 does with half a surrogate pair.

import { createHash } from 'node:crypto';
import pg from 'pg';
import { sleep, type Clock } from '../../core/clock.ts';
import type { Fields } from '../rows/columns.ts';
import { StatementFailure, storageError } from './failures.ts';

type Scalar = string | number | boolean | null;
export type Value = Scalar | Uint8Array | readonly Scalar[];

export interface Reads {
  get(sql: string, ...values: Value[]): Promise<Fields | undefined>;
  /** Rows that are read, or that a `RETURNING` gives. */
  all(sql: string, ...values: Value[]): Promise<Fields[]>;
}

/** What writes: there is no way to it but `transaction`, so every write has said how durable it is to be. */
export interface Transaction extends Reads {
  /** The number of rows that it changed. */
  run(sql: string, ...values: Value[]): Promise<number>;
  /** Several statements at once, without values. */
  script(sql: string): Promise<void>;
}

export interface Database extends Reads, AsyncDisposable {
  /** `durable`: synced to the disk before it resolves; else the last moments of it may go with a crash of the database (E-803). */
  transaction<T>(sync: 'durable' | 'fast', body: (tx: Transaction) => Promise<T>): Promise<T>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly connections: number;
  readonly clock: Clock;
  readonly patienceMs: number;
  /** Called before each statement, for tests that break connections there. */
  readonly onStatement?: ((sql: string) => unknown) | undefined;
}

const retryMs = { first: 20, most: 1_000 };
const connectWithinMs = 5_000;
/** Of who does not hear from the database at all; longer than that itself lets a statement run. */
const silenceMs = 40_000;
const bounds = `SET LOCAL statement_timeout = '30s'; SET LOCAL lock_timeout = '10s';
  SET LOCAL idle_in_transaction_session_timeout = '30s'`;
const begin = {
  durable: `BEGIN; ${bounds}; SELECT pg_current_xact_id()::text AS xid`,
  fast: `BEGIN; ${bounds}; SET LOCAL synchronous_commit = off; SELECT pg_current_xact_id()::text AS xid`,
};

export function openDatabase({ url, connections, clock, patienceMs, onStatement }: DatabaseOptions): Database {
  const pool = new pg.Pool({ ...connectionOf(url), max: connections, query_timeout: silenceMs });
  // The loss of one is learnt from the next statement on it; nobody else is to be told.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  let isOpen = true;

  async function patiently<T>(attempt: (triesLeft: boolean) => Promise<T>): Promise<T> {
    const untilMs = clock.now() + patienceMs;
    for (let waitMs = retryMs.first; ; waitMs = Math.min(2 * waitMs, retryMs.most)) {
      try {
        return await attempt(clock.now() < untilMs);
      } catch (cause) {
        const goesOn = cause instanceof StatementFailure && cause.kind !== 'refused' && isOpen;
        if (!goesOn || clock.now() >= untilMs) throw storageError(cause);
      }
      await sleep(clock, waitMs);
    }
  }

  async function connect(): Promise<pg.PoolClient> {
    try {
      return await pool.connect();
    } catch (cause) {
      throw new StatementFailure(cause);
    }
  }

  async function send(client: pg.PoolClient, sql: string, values?: readonly Value[]): Promise<pg.QueryResult<Fields>> {
    await onStatement?.(sql);
    try {
      return await client.query<Fields>(sql, values?.map(storable));
    } catch (cause) {
      throw new StatementFailure(cause);
    }
  }

  async function withClient<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await connect();
    let broken = false;
    try {
      return await work(client);
    } catch (cause) {
      broken = isLost(cause);
      throw cause;
    } finally {
      client.release(broken);
    }
  }

  /** What became of a transaction whose commit was sent (T1). */
  async function isCommitted(xid: string): Promise<boolean> {
    return patiently(async (goesOn) => {
      for (;;) {
        const { rows } = await withClient((client) => send(client, 'SELECT pg_xact_status($1::xid8) AS fate', [xid]));
        const fate = rows[0]?.['fate'];
        if (fate === 'committed' || fate === 'aborted') return fate === 'committed';
        if (!goesOn) throw new Error('It is not known whether a transaction was stored.');
        await sleep(clock, retryMs.most);
      }
    });
  }

  async function attempt<T>(sync: 'durable' | 'fast', body: (tx: Transaction) => Promise<T>): Promise<T> {
    const commit: { sent: { readonly xid: string; readonly result: T } | null } = { sent: null };
    try {
      return await withClient(async (client) => {
        try {
          const xid = xidOf(await send(client, begin[sync]));
          const result = await body(transactionOf((sql, values) => send(client, sql, values)));
          commit.sent = { xid, result };
          await send(client, 'COMMIT');
          return result;
        } catch (cause) {
          if (!isLost(cause)) await send(client, 'ROLLBACK');
          throw cause;
        }
      });
    } catch (cause) {
      if (commit.sent !== null && isLost(cause) && (await isCommitted(commit.sent.xid))) return commit.sent.result;
      throw cause;
    }
  }

  return {
    ...readsOf((sql, values) => patiently(() => withClient((client) => send(client, sql, values)))),
    transaction: (sync, body) => patiently(() => attempt(sync, body)),
    async [Symbol.asyncDispose]() {
      isOpen = false;
      await pool.end();
    },
  };
}

type Send = (sql: string, values?: readonly Value[]) => Promise<pg.QueryResult<Fields>>;

function readsOf(send: Send): Reads {
  return {
    get: async (sql, ...values) => (await send(sql, values)).rows[0],
    all: async (sql, ...values) => (await send(sql, values)).rows,
  };
}

function transactionOf(send: Send): Transaction {
  return {
    ...readsOf(send),
    run: async (sql, ...values) => (await send(sql, values)).rowCount ?? 0,
    script: async (sql) => void (await send(sql)),
  };
}

const isLost = (cause: unknown) => cause instanceof StatementFailure && cause.kind === 'connection-lost';

/** Of several statements at once there are several results, whatever the types say. */
function xidOf(results: unknown): string {
  const last: unknown = Array.isArray(results) ? results.at(-1)?.rows?.[0]?.xid : undefined;
  if (typeof last !== 'string') throw new Error('A transaction has no number.');
  return last;
}

function storable(value: Value): unknown {
  if (typeof value === 'string') return withoutNul(value);
  if (value instanceof Uint8Array || typeof value !== 'object' || value === null) return value;
  return value.map((item) => (typeof item === 'string' ? withoutNul(item) : item));
}

const withoutNul = (text: string) => (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text);

const oids = { bytea: 17, int8: 20, json: 114, jsonb: 3802 };

/** How each connection is made. Numbers beyond 2^53 are not stored; JSON is read by whom it concerns. */
export function connectionOf(url: string) {
  return {
    connectionString: url,
    application_name: 'reins',
    keepAlive: true,
    connectionTimeoutMillis: connectWithinMs,
    types: { getTypeParser: parserOf },
  };
}

function parserOf(oid: number): (text: string) => unknown {
  if (oid === oids.int8) return Number;
  if (oid === oids.json || oid === oids.jsonb) return (text) => text;
  const parse = pg.types.getTypeParser(oid);
  return oid === oids.bytea ? (text) => Uint8Array.from(parse(text)) : parse;
}

/** One statement as a durable transaction of its own; gives the number of rows it changed. */
export function write(db: Database, sql: string, ...values: Value[]): Promise<number> {
  return db.transaction('durable', (tx) => tx.run(sql, ...values));
}

/** What a caller chose, as a key that an index can hold. */
export function keyOf(chosen: string): string {
  return chosen.length <= 200 ? chosen : `sha256:${createHash('sha256').update(chosen).digest('hex')}`;
}

/** Holds off everybody else who names the same, until the transaction is over. */
export async function lockName(tx: Transaction, ...names: readonly string[]): Promise<void> {
  await tx.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', `reins:${JSON.stringify(names)}`);
}

/** Conditions of those values that there are; `?` stands for the number of the value. */
export function allOf(asked: readonly { readonly sql: string; readonly value?: Scalar | undefined }[]): {
  readonly where: string;
  readonly values: Value[];
} {
  const values: Value[] = [];
  const conditions = asked.flatMap(({ sql, ...rest }) => {
    if (!('value' in rest)) return [sql];
    if (rest.value === undefined) return [];
    values.push(rest.value);
    return [sql.replaceAll('?', `$${values.length}`)];
  });
  return { where: conditions.length === 0 ? 'true' : conditions.join(' AND '), values };
}
