// The default store: one SQLite file, no service. Each method is one short synchronous piece of work on one connection, so
// inside a process nothing interleaves; between processes SQLite's write lock decides.

import type { SQLInputValue } from 'node:sqlite';
import type { RunId } from '../../core/ids.ts';
import type { Store } from '../store.ts';
import { admit, tipOf } from './admit.ts';
import { append } from './append.ts';
import { integer, text } from './columns.ts';
import { openDatabase, type Database, type DatabaseOptions } from './database.ts';
import { migrate } from './migrations.ts';
import { prune } from './prune.ts';
import { readEvents } from './read-events.ts';
import { createRunNumbers } from './run-numbers.ts';
import {
  harnessRecord,
  harnessValues,
  keyRecord,
  keyValues,
  readable,
  runId,
  runRecord,
  selectRun,
  selectUnfinished,
  sessionId,
  sessionRecord,
  unfinishedRun,
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
  const write = (sql: string, ...values: SQLInputValue[]) => db.transaction('durable', (tx) => tx.run(sql, ...values));
  const findRun = (id: RunId) => {
    const row = db.get(`${selectRun} WHERE run_id = ?`, id);
    return row === undefined ? null : runRecord(row);
  };
  return {
    admit: async (admission) => admit(db, admission),
    append: async (batch, { durable }) => append({ db, numbers }, batch, durable ? 'durable' : 'fast'),
    readEvents: async (id, range) => readEvents(db, id, range),

    run: async (id) => findRun(id),
    unfinishedRuns: async () => readable(db.all(selectUnfinished), unfinishedRun),
    tip: async (id) => tipOf(db, id),
    async runIdsOfSession(id) {
      const rows = db.all('SELECT run_id, turn FROM runs WHERE session_id = ? ORDER BY turn', id);
      return rows.map((row) => ({ runId: runId(row, 'run_id'), turn: integer(row, 'turn') }));
    },
    async requestCancel(id) {
      write(`UPDATE runs SET control = 'cancel' WHERE run_id = ? AND status = 'running'`, id);
      return findRun(id);
    },
    async takeOver(id, owner) {
      return takeOver(db, id, owner) ? findRun(id) : null;
    },
    async release(id, owner) {
      write('UPDATE runs SET owner = NULL WHERE run_id = ? AND owner = ?', id, owner);
    },
    async deleteResponse(id) {
      write('UPDATE runs SET deleted = 1, response = NULL WHERE run_id = ?', id);
    },
    countTakeover: async (id, at) => countTakeover(db, id, at),

    async session(id) {
      const row = db.get('SELECT * FROM sessions WHERE session_id = ?', id);
      return row === undefined ? null : sessionRecord(row);
    },
    async expireSessions({ updatedBeforeMs, nowMs }) {
      const sql = `
        UPDATE sessions SET expired_at = ?
        WHERE updated_at < ? AND running_run_id IS NULL AND expired_at IS NULL RETURNING session_id`;
      const expired = db.transaction('durable', (tx) => tx.returning(sql, nowMs, updatedBeforeMs));
      return expired.map((row) => sessionId(row, 'session_id'));
    },

    async harness(id) {
      const row = db.get('SELECT * FROM harnesses WHERE harness_id = ?', id);
      return row === undefined ? null : harnessRecord(row);
    },
    async harnesses(principal) {
      const sql = 'SELECT * FROM harnesses WHERE principal = ? AND deleted = 0 ORDER BY created_at, rowid';
      return readable(db.all(sql, principal), harnessRecord);
    },
    putHarness: async (record) => void write(upsertHarness, ...harnessValues(record)),

    async keyByHash(hash) {
      const row = db.get('SELECT * FROM keys WHERE hash = ?', hash);
      return row === undefined ? null : keyRecord(row);
    },
    keys: async () => readable(db.all('SELECT * FROM keys ORDER BY created_at, rowid'), keyRecord),
    putKey: async (record) => void write(upsertKey, ...keyValues(record)),

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

function takeOver(db: Database, id: RunId, owner: string): boolean {
  return db.transaction('durable', (tx) => {
    if (tx.run(`UPDATE runs SET owner = ? WHERE run_id = ? AND status = 'running'`, owner, id) === 0) return false;
    const sql =
      'UPDATE heads SET generation = generation + 1 WHERE run_no = (SELECT run_no FROM runs WHERE run_id = ?)';
    return tx.run(sql, id) === 1;
  });
}

function countTakeover(db: Database, id: RunId, { nowMs, sinceMs }: { nowMs: number; sinceMs: number }): number {
  return db.transaction('durable', (tx) => {
    tx.run('INSERT INTO takeovers (run_no, at) SELECT run_no, ? FROM runs WHERE run_id = ?', nowMs, id);
    const sql = 'SELECT count(*) AS count FROM takeovers JOIN runs USING (run_no) WHERE run_id = ? AND at >= ?';
    const row = tx.get(sql, id, sinceMs);
    return row === undefined ? 0 : integer(row, 'count');
  });
}
