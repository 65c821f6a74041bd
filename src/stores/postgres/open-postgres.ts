// The store for several machines: one PostgreSQL database, any number of nodes. What the rows mean is the same as in
// `sqlite/`; here each method is one transaction of a few statements, and rows are locked where SQLite has one writer.

import type { Clock } from '../../core/clock.ts';
import { silentLogger, type Logger } from '../../core/logger.ts';
import { text } from '../rows/columns.ts';
import { runId } from '../rows/records.ts';
import type { Append, Store } from '../store.ts';
import { admit } from './admit.ts';
import { appendFact } from './append-fact.ts';
import { append } from './append.ts';
import { approvalMethods } from './approvals.ts';
import { contentMethods } from './contents.ts';
import { keyOf, lockName, openDatabase, type Database, type DatabaseOptions, type Transaction } from './database.ts';
import { fileMethods } from './files.ts';
import { harnessMethods } from './harnesses.ts';
import { keepEnded } from './keep-ended.ts';
import { migrate } from './migrations.ts';
import { modelBlockMethods, ownerMethods } from './owners.ts';
import { principalMethods } from './principals.ts';
import { prune } from './prune.ts';
import { queueMethods } from './queue.ts';
import { readEvents, readTails } from './read-events.ts';
import { ruleMethods } from './rules.ts';
import { runMethods } from './runs.ts';
import { sessionMethods } from './sessions.ts';
import { createWakeUps, type WakeUps } from './wake-ups.ts';
import { webhookMethods } from './webhooks.ts';

export interface PostgresOptions {
  /** `postgres://…`; may lead through a pooler in transaction mode. */
  readonly url: string;
  /** Straight to the database, for LISTEN; absent: `url`. Null: nodes hear of each other by looking each second. */
  readonly listenUrl?: string | null;
  /** Most connections of this process for its work; absent: 10. Two more stand beside them. */
  readonly connections?: number;
  /** How long a database that cannot be reached is waited for; absent: 30 s. */
  readonly patienceMs?: number;
  readonly clock: Clock;
  /** Hears of a `listenUrl` that leads nowhere; absent: nobody does. */
  readonly logger?: Logger;
  readonly onStatement?: DatabaseOptions['onStatement'];
}

export interface PostgresStore extends Store {
  /** Does it while no other node does the like. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/** Of a renewed lease: who cannot say for so long that it lives shall hear of it well before others take its runs over. */
const renewal = { patienceMs: 8_000, silenceMs: 4_000 };

/**
 * @throws SchemaError  The database was written by a newer Reins (E-804).
 * @throws StorageError  It cannot be reached, or is no such database.
 */
export async function openPostgres(options: PostgresOptions): Promise<PostgresStore> {
  const { url, listenUrl = url, connections = 10, patienceMs = 30_000, clock, onStatement } = options;
  const { logger = silentLogger } = options;
  await using stack = new AsyncDisposableStack();
  const db = stack.use(openDatabase({ url, connections, clock, patienceMs, onStatement }));
  const lease = stack.use(openDatabase({ url, connections: 1, idle: 'kept', clock, onStatement, ...renewal }));
  await migrate(db);
  const company = { isAlone: false };
  const wakeUps = listenUrl === null ? null : stack.use(createWakeUps({ url: listenUrl, clock, company, logger }));
  const rest = stack.move();
  return {
    ...logMethods(db, wakeUps),
    ...runMethods(db, (run) => wakeUps?.tell(run.runId, run.lastSeq)),
    ...ownerMethods({ db, lease, company }),
    ...approvalMethods(db),
    ...ruleMethods(db),
    ...queueMethods(db),
    ...contentMethods(db),
    ...modelBlockMethods(db),
    ...sessionMethods(db),
    ...harnessMethods(db),
    ...fileMethods(db),
    ...principalMethods(db),
    ...webhookMethods(db),
    alone: (work) => alone(db, work),
    figures() {
      const { waiting, ...pool } = db.load();
      return { connections: pool, waiting, isListening: wakeUps?.isListening ?? null };
    },
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  };
}

type LogMethods = Pick<
  Store,
  | 'admit'
  | 'append'
  | 'readEvents'
  | 'readTails'
  | 'appendFact'
  | 'keepEnded'
  | 'idempotency'
  | 'prune'
  | 'isPruned'
  | 'onNews'
>;

function logMethods(db: Database, wakeUps: WakeUps | null): LogMethods {
  return {
    admit: (admission) => admit(db, admission),
    async append(batch) {
      const results = await append(db, batch);
      for (const [index, result] of results.entries())
        if (result.outcome === 'stored') tell(wakeUps, batch[index], result.events.length);
      return results;
    },
    readEvents: (id, range) => readEvents(db, id, range),
    readTails: (cursors) => readTails(db, cursors),
    async appendFact(fact) {
      const result = await appendFact(db, fact);
      if (result.outcome === 'stored') for (const { runId: id, seq } of result.events) wakeUps?.tell(id, seq);
      return result;
    },
    keepEnded: (run) => keepEnded(db, run),
    async idempotency(principal, key) {
      const sql = 'SELECT run_id, body_hash FROM idempotency WHERE principal = $1 AND request_key = $2';
      const row = await db.get(sql, principal, keyOf(key));
      return row === undefined ? null : { runId: runId(row, 'run_id'), bodyHash: text(row, 'body_hash') };
    },
    prune: (due) => prune(db, due),
    async isPruned(id) {
      return (await db.get('SELECT 1 FROM runs WHERE run_id = $1 AND pruned <> 0', id)) !== undefined;
    },
    ...(wakeUps === null ? {} : { onNews: (listener) => wakeUps.listen(listener) }),
  };
}

function tell(wakeUps: WakeUps | null, entry: Append | undefined, events: number): void {
  if (entry !== undefined && events > 0) wakeUps?.tell(entry.runId, entry.after + events);
}

/** The work is done once, however often the lock has to be taken. */
async function alone<T>(db: Database, work: () => Promise<T>): Promise<T> {
  let done: Promise<T> | null = null;
  const body = async (tx: Transaction) => {
    await tx.script('SET LOCAL idle_in_transaction_session_timeout = 0');
    await lockName(tx, 'alone');
    return (done ??= work());
  };
  return db.transaction('fast', body, 'endless');
}
