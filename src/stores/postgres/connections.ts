// Connections to one database, each lent for one piece of work; one that broke is not lent again. Nor are those that were made
// before it broke: a host that is gone without a word, or is no primary any more, is so for all of them, and each would cost
// whoever is lent it the whole silence.

import pg from 'pg';
import type { Fields } from '../rows/columns.ts';
import { isLost, StatementFailure } from './failures.ts';

type Scalar = string | number | boolean | null;
export type Value = Scalar | Uint8Array | readonly Scalar[];

/** @throws StatementFailure */
export type Send = (sql: string, values?: readonly Value[]) => Promise<pg.QueryResult<Fields>>;

export interface Connections {
  /**
   * @param silenceMs  Who hears nothing of a statement for so long has lost the connection; null: it is waited for.
   * @param work  Is told the name of its connection, which no other one ever has.
   * @throws StatementFailure  Also where there is no connection to be had.
   */
  use<T>(silenceMs: number | null, work: (send: Send, name: string) => Promise<T>): Promise<T>;
  /** How many there are, how many of them are lent, and who waits for one. */
  load(): { readonly open: number; readonly used: number; readonly waiting: number };
  close(): Promise<void>;
}

export interface ConnectionsOptions {
  readonly url: string;
  readonly connections: number;
  /** `kept`: those that were made stay; absent: one that nobody needs for 10 s is closed. */
  readonly idle?: 'kept' | undefined;
  /** Called before each statement, for tests that break connections there. */
  readonly onStatement?: ((sql: string) => unknown) | undefined;
}

const connectWithinMs = 5_000;
/** Without a word on a connection, until the system asks whether its other end is there. */
const keepAliveAfterMs = 10_000;

export function openConnections(options: ConnectionsOptions): Connections {
  const { url, connections, idle, onStatement } = options;
  const pool = new pg.Pool({
    ...connectionOf(url),
    max: connections,
    ...(idle === 'kept' ? { idleTimeoutMillis: 0 } : {}),
  });
  // The loss of one is learnt from the next statement on it; nobody else is to be told.
  pool.on('error', () => {});
  const names = new WeakMap<pg.PoolClient, string>();
  /** How often one had broken when this one was made, of those that were not made before the last that broke. */
  const made = new WeakMap<pg.PoolClient, number>();
  let losses = 0;
  pool.on('connect', (client) => {
    client.on('error', () => {});
    made.set(client, losses);
  });

  async function lend(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await pool.connect().catch((cause: unknown) => {
        throw new StatementFailure(cause);
      });
      if (made.get(client) === losses) return client;
      client.release(true);
    }
  }

  async function use<T>(silenceMs: number | null, work: (send: Send, name: string) => Promise<T>): Promise<T> {
    const client = await lend();
    let broken = false;
    const query: Send = (text, values) => {
      const asked = { text, values: values?.map(storable), query_timeout: silenceMs ?? 0 };
      return client.query<Fields>(asked).catch((cause: unknown) => {
        throw new StatementFailure(cause);
      });
    };
    try {
      const name = names.get(client) ?? String((await query('SELECT gen_random_uuid() AS name')).rows[0]?.['name']);
      names.set(client, name);
      const send: Send = async (sql, values) => {
        await onStatement?.(sql);
        return query(sql, values);
      };
      return await work(send, name);
    } catch (cause) {
      broken = isLost(cause);
      if (broken && made.get(client) === losses) losses += 1;
      throw cause;
    } finally {
      client.release(broken);
    }
  }

  return {
    use,
    load: () => ({ open: pool.totalCount, used: pool.totalCount - pool.idleCount, waiting: pool.waitingCount }),
    close: () => pool.end(),
  };
}

function storable(value: Value): unknown {
  if (typeof value === 'string') return withoutNul(value);
  if (value instanceof Uint8Array || typeof value !== 'object' || value === null) return value;
  return value.map((item) => (typeof item === 'string' ? withoutNul(item) : item));
}

/** Text that PostgreSQL cannot hold, a NUL, is kept as U+FFFD, as UTF-8 does with half a surrogate pair. */
const withoutNul = (text: string) => (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text);

const { INT8, JSON: JSON_TEXT, JSONB, BYTEA } = pg.types.builtins;
/** Numbers beyond 2^53 are not stored; JSON is read by whom it concerns. */
const types = new pg.TypeOverrides();
const parseBytes = pg.types.getTypeParser(BYTEA);
types.setTypeParser(INT8, Number);
types.setTypeParser(JSON_TEXT, String);
types.setTypeParser(JSONB, String);
types.setTypeParser(BYTEA, (text) => Uint8Array.from(parseBytes(text)));

/** How each connection is made. */
export function connectionOf(url: string) {
  return {
    connectionString: url,
    application_name: 'reins',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    connectionTimeoutMillis: connectWithinMs,
    types,
  };
}
