// A few connections to one PostgreSQL database, as little above `pg` as the store needs. Owns what is tried again and when a
// transaction counts as stored; which rows are locked in which order is said where that is done.
//
// T1. A transaction is stored once or not at all, whatever breaks: one whose connection is lost before its commit was sent is
//     tried again; of one whose commit was sent, the database is asked what became of it. A body may therefore run more than
//     once, and changes nothing but through its transaction. What is asked for is a mark that each transaction leaves in a row
//     of its connection's own: the database's numbers of transactions are given out a second time after a crash.
// T2. What cannot be reached is waited for, `patienceMs` long: a restart of the database is a pause and no failure. A statement
//     is given up well before that, by the database first and then by who sent it, and whatever that took, it is sent once more.
// T3. Each statement sees what was committed before it began, and one that had to wait for a row sees the newest version of
//     that row, but nothing else anew. So who needs to look at more locks first, and looks in the next statement.
// T4. Nothing outlives a transaction on its connection, no prepared statement and no setting: a pooler may hand it on.

import { createHash } from 'node:crypto';
import { sleep, type Clock } from '../../core/clock.ts';
import type { Fields } from '../rows/columns.ts';
import { openConnections, type Connections, type ConnectionsOptions, type Send, type Value } from './connections.ts';
import { isLost, StatementFailure, storageError } from './failures.ts';

export type { Value } from './connections.ts';

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
  /** `durable`: synced to the disk before it resolves; else the last moments of it may go with a crash of the database. */
  transaction<T>(sync: Sync, body: (tx: Transaction) => Promise<T>, pace?: Pace): Promise<T>;
  readonly load: Connections['load'];
}

export type Sync = 'durable' | 'fast';
/** What its statements may take: a moment each; so much more, for what works on many rows; whatever they take. */
export type Pace = 'prompt' | 'long' | 'endless';

export interface DatabaseOptions extends ConnectionsOptions {
  readonly clock: Clock;
  /** 0: everything is tried once. */
  readonly patienceMs: number;
  /** Of a prompt statement: without an answer for so long its connection is lost. Absent: 10 s. */
  readonly silenceMs?: number;
}

const retryMs = { first: 20, most: 1_000 };
const longestSilenceMs = 10_000;
const paces = { prompt: 1, long: 4, endless: null };

// A process that stands still, or hears nothing, in the middle of a transaction holds its rows no longer than a moment: others
// wait for them, and have to take over what it leaves.
function settingsOf(sync: Sync, silenceMs: number | null): string {
  const [statementMs, lockMs] = silenceMs === null ? [0, 0] : [0.8 * silenceMs, Math.min(0.5 * silenceMs, 5_000)];
  const bounds = `SET LOCAL statement_timeout = ${Math.round(statementMs)}; SET LOCAL lock_timeout = ${Math.round(lockMs)};
    SET LOCAL idle_in_transaction_session_timeout = 2000`;
  return sync === 'durable' ? bounds : `${bounds}; SET LOCAL synchronous_commit = off`;
}

/** One transaction, as it can be found again (T1). */
interface Mark {
  readonly connection: string;
  readonly number: number;
}

const leaveMark = ({ connection, number }: Mark) => `
  INSERT INTO commits (connection, number) VALUES ('${connection}', ${number})
  ON CONFLICT (connection) DO UPDATE SET number = excluded.number, at = excluded.at`;
/** Waits for a transaction that is still at work on the row, and finds what it left. */
const findMark = `
  INSERT INTO commits (connection, number) VALUES ($1, 0)
  ON CONFLICT (connection) DO UPDATE SET number = commits.number RETURNING number`;
/** Of connections that are gone in a day; a part of them, and none that is used after all. */
const deleteMarks = `
  DELETE FROM commits WHERE at < now() - interval '1 day' AND connection IN
    (SELECT connection FROM commits WHERE at < now() - interval '1 day' LIMIT 10000)`;

export async function forgetMarks(db: Database): Promise<void> {
  await db.transaction('fast', (tx) => tx.run(deleteMarks), 'long');
}

export function openDatabase({
  clock,
  patienceMs,
  silenceMs: promptMs = longestSilenceMs,
  ...options
}: DatabaseOptions): Database {
  const connections = openConnections(options);
  let isOpen = true;
  let transactions = 0;

  async function patiently<T>(work: () => Promise<T>): Promise<T> {
    const untilMs = clock.now() + patienceMs;
    for (let tries = 1, waitMs = retryMs.first; ; tries++, waitMs = Math.min(2 * waitMs, retryMs.most)) {
      try {
        return await work();
      } catch (cause) {
        const goesOn = cause instanceof StatementFailure && cause.kind !== 'refused' && isOpen;
        const isOver = clock.now() >= untilMs && (tries > 1 || patienceMs === 0);
        if (!goesOn || isOver) throw storageError(cause);
      }
      await sleep(clock, waitMs);
    }
  }

  /** What became of a transaction whose commit was sent (T1). */
  function isCommitted({ connection, number }: Mark): Promise<boolean> {
    // Bounded at the database too: a commit may wait for its standby for long, and this waits for it.
    return patiently(() =>
      connections.use(promptMs, (send) =>
        begun(send, settingsOf('fast', promptMs), async () => {
          const { rows } = await send(findMark, [connection]);
          await send('ROLLBACK');
          return rows[0]?.['number'] === number;
        }),
      ),
    );
  }

  async function attempt<T>(sync: Sync, body: (tx: Transaction) => Promise<T>, silenceMs: number | null): Promise<T> {
    const commit: { sent: { readonly mark: Mark; readonly result: T } | null } = { sent: null };
    try {
      return await connections.use(silenceMs, (send, connection) => {
        const mark = { connection, number: ++transactions };
        return begun(send, `${settingsOf(sync, silenceMs)}; ${leaveMark(mark)}`, async () => {
          const result = await body(transactionOf(send));
          commit.sent = { mark, result };
          await send('COMMIT');
          return result;
        });
      });
    } catch (cause) {
      if (commit.sent !== null && isLost(cause) && (await isCommitted(commit.sent.mark))) return commit.sent.result;
      throw cause;
    }
  }

  return {
    ...readsOf((sql, values) => patiently(() => connections.use(promptMs, (send) => send(sql, values)))),
    transaction(sync, body, pace = 'prompt') {
      const times = paces[pace];
      return patiently(() => attempt(sync, body, times === null ? null : times * promptMs));
    },
    load: () => connections.load(),
    async [Symbol.asyncDispose]() {
      isOpen = false;
      await connections.close();
    },
  };
}

/** A transaction that the body ends; taken back where that fails. */
async function begun<T>(send: Send, first: string, body: () => Promise<T>): Promise<T> {
  try {
    await send(`BEGIN; ${first}`);
    return await body();
  } catch (cause) {
    if (!isLost(cause)) await send('ROLLBACK');
    throw cause;
  }
}

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
export function allOf(asked: readonly { readonly sql: string; readonly value?: Value | undefined }[]): {
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
