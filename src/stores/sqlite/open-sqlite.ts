// The default store: one SQLite file, no service. Each method is one short synchronous piece of work on one connection, so
// inside a process nothing interleaves; between processes SQLite's write lock decides.

import type { SessionId } from '../../core/ids.ts';
import type { Store } from '../store.ts';
import { admit } from './admit.ts';
import { appendFact } from './append-fact.ts';
import { append } from './append.ts';
import { approvalMethods } from './approvals.ts';
import { text } from './columns.ts';
import { contentMethods } from './contents.ts';
import { openDatabase, write, type Database, type DatabaseOptions } from './database.ts';
import { migrate } from './migrations.ts';
import { modelBlockMethods } from './model-blocks.ts';
import { ownerMethods } from './owners.ts';
import { prune } from './prune.ts';
import { queueMethods } from './queue.ts';
import { readEvents } from './read-events.ts';
import { ruleMethods } from './rules.ts';
import { createRunNumbers } from './run-numbers.ts';
import { runMethods } from './runs.ts';
import {
  harnessRecord,
  harnessValues,
  keyRecord,
  keyValues,
  readable,
  runId,
  sessionId,
  sessionRecord,
  upsertHarness,
  upsertKey,
} from './records.ts';

/**
 * Opens the store in the file at `path`, made where there is none; `':memory:'` lives as long as the store.
 * @throws SchemaError  The file was written by a newer Reins (E-804).
 * @throws StorageError  The file cannot be opened, or is no database.
 */
export function openSqlite(path: string, options?: DatabaseOptions): Store {
  const db = openDatabase(path, options);
  try {
    migrate(db);
  } catch (error) {
    db.close();
    throw error;
  }
  const numbers = createRunNumbers(db);
  return {
    admit: async (admission) => admit(db, admission),
    append: async (batch, { durable }) => append({ db, numbers }, batch, durable ? 'durable' : 'fast'),
    readEvents: async (id, range) => readEvents(db, id, range),
    appendFact: async (fact) => appendFact(db, fact),

    ...runMethods(db),
    ...ownerMethods(db),
    ...approvalMethods(db),
    ...ruleMethods(db),
    ...queueMethods(db),
    ...contentMethods(db),
    ...modelBlockMethods(db),

    async session(id) {
      const row = db.get('SELECT * FROM sessions WHERE session_id = ?', id);
      return row === undefined ? null : sessionRecord(row);
    },
    expireSessions: async (due) => expireSessions(db, due),

    async harness(id) {
      const row = db.get('SELECT * FROM harnesses WHERE harness_id = ?', id);
      return row === undefined ? null : harnessRecord(row);
    },
    async harnesses(principal) {
      const sql = 'SELECT * FROM harnesses WHERE principal = ? AND deleted = 0 ORDER BY created_at, rowid';
      return readable(db.all(sql, principal), harnessRecord);
    },
    putHarness: async (record) => void write(db, upsertHarness, ...harnessValues(record)),

    async keyByHash(hash) {
      const row = db.get('SELECT * FROM keys WHERE hash = ?', hash);
      return row === undefined ? null : keyRecord(row);
    },
    keys: async () => readable(db.all('SELECT * FROM keys ORDER BY created_at, rowid'), keyRecord),
    putKey: async (record) => void write(db, upsertKey, ...keyValues(record)),

    async idempotency(principal, key) {
      const row = db.get('SELECT run_id, body_hash FROM idempotency WHERE principal = ? AND key = ?', principal, key);
      return row === undefined ? null : { runId: runId(row, 'run_id'), bodyHash: text(row, 'body_hash') };
    },
    prune: (due) => prune(db, due),
    async isPruned(id) {
      return db.get('SELECT 1 FROM runs WHERE run_id = ? AND pruned <> 0', id) !== undefined;
    },
    async [Symbol.asyncDispose]() {
      db.close();
    },
  };
}

function expireSessions(
  db: Database,
  { updatedBeforeMs, nowMs }: { updatedBeforeMs: number; nowMs: number },
): readonly SessionId[] {
  const sql = `
    UPDATE sessions SET expired_at = ?
    WHERE updated_at < ? AND running_run_id IS NULL AND expired_at IS NULL RETURNING session_id`;
  return db.transaction('durable', (tx) => {
    const expired = tx.returning(sql, nowMs, updatedBeforeMs).map((row) => sessionId(row, 'session_id'));
    for (const id of expired) tx.run('DELETE FROM queued_tasks WHERE session_id = ? AND run_id IS NULL', id);
    return expired;
  });
}
