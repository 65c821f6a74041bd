// The default store: one SQLite file, no service. Each method is one short synchronous piece of work on one connection, so
// inside a process nothing interleaves; between processes SQLite's write lock decides.

import type { KeyRecord, HarnessRecord, Store } from '../store.ts';
import type { RunId } from '../../core/ids.ts';
import { admit, tipOf } from './admit.ts';
import { append } from './append.ts';
import { integer, text } from './columns.ts';
import { openDatabase, type Database, type DatabaseOptions } from './database.ts';
import { migrate } from './migrations.ts';
import { nextPrunable, pruneRun } from './prune.ts';
import { readEvents } from './read-events.ts';
import { createRunNumbers } from './run-numbers.ts';
import { harnessRecord, keyRecord, runId, runRecord, selectRun, sessionId, sessionRecord } from './records.ts';

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
  const findRun = (id: RunId) => {
    const row = db.get(`${selectRun} WHERE run_id = ?`, id);
    return row === undefined ? null : runRecord(row);
  };
  return {
    admit: async (admission) => admit(db, admission),
    append: async (batch, { durable }) => append({ db, numbers }, batch, durable),
    readEvents: async (id, range) => readEvents(db, id, range),

    run: async (id) => findRun(id),
    unfinishedRuns: async () => db.all(`${selectRun} WHERE status = 'running' ORDER BY runs.run_no`).map(runRecord),
    tip: async (id) => tipOf(db, id),
    runsOfSession: async (id) => db.all(`${selectRun} WHERE session_id = ? ORDER BY turn`, id).map(runRecord),
    async requestCancel(id) {
      db.run(`UPDATE runs SET control = 'cancel' WHERE run_id = ? AND status = 'running'`, id);
      return findRun(id);
    },
    async takeOver(id, owner) {
      return takeOver(db, id, owner) ? findRun(id) : null;
    },
    async deleteResponse(id) {
      db.run('UPDATE runs SET deleted = 1, response = NULL WHERE run_id = ?', id);
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
      return db.all(sql, nowMs, updatedBeforeMs).map((row) => sessionId(row, 'session_id'));
    },

    async harness(id) {
      const row = db.get('SELECT * FROM harnesses WHERE harness_id = ?', id);
      return row === undefined ? null : harnessRecord(row);
    },
    async harnesses(principal) {
      const sql = 'SELECT * FROM harnesses WHERE principal = ? AND deleted = 0 ORDER BY created_at, rowid';
      return db.all(sql, principal).map(harnessRecord);
    },
    putHarness: async (record) => putHarness(db, record),

    async keyByHash(hash) {
      const row = db.get('SELECT * FROM keys WHERE hash = ?', hash);
      return row === undefined ? null : keyRecord(row);
    },
    keys: async () => db.all('SELECT * FROM keys ORDER BY created_at, rowid').map(keyRecord),
    putKey: async (record) => putKey(db, record),

    async idempotency(principal, key) {
      const row = db.get('SELECT run_id, body_hash FROM idempotency WHERE principal = ? AND key = ?', principal, key);
      return row === undefined ? null : { runId: runId(row, 'run_id'), bodyHash: text(row, 'body_hash') };
    },
    prune: async ({ endedBeforeMs }) => prune(db, endedBeforeMs),
    async isPruned(id) {
      return db.get('SELECT 1 FROM runs WHERE run_id = ? AND pruned = 1', id) !== undefined;
    },
    async [Symbol.asyncDispose]() {
      db.close();
    },
  };
}

function takeOver(db: Database, id: RunId, owner: string): boolean {
  return db.transaction('durable', () => {
    if (db.run(`UPDATE runs SET owner = ? WHERE run_id = ? AND status = 'running'`, owner, id) === 0) return false;
    const sql =
      'UPDATE heads SET generation = generation + 1 WHERE run_no = (SELECT run_no FROM runs WHERE run_id = ?)';
    return db.run(sql, id) === 1;
  });
}

function countTakeover(db: Database, id: RunId, { nowMs, sinceMs }: { nowMs: number; sinceMs: number }): number {
  return db.transaction('durable', () => {
    db.run('INSERT INTO takeovers (run_no, at) SELECT run_no, ? FROM runs WHERE run_id = ?', nowMs, id);
    const sql = 'SELECT count(*) AS count FROM takeovers JOIN runs USING (run_no) WHERE run_id = ? AND at >= ?';
    const row = db.get(sql, id, sinceMs);
    return row === undefined ? 0 : integer(row, 'count');
  });
}

/** Run by run, with the event loop let through in between: a large clean-up never holds up the streams. */
async function prune(db: Database, endedBeforeMs: number): Promise<{ keys: number; runs: number }> {
  const keys = db.run(
    'DELETE FROM idempotency WHERE EXISTS (SELECT 1 FROM runs r WHERE r.run_id = idempotency.run_id AND r.ended_at < ?)',
    endedBeforeMs,
  );
  let runs = 0;
  for (let next = nextPrunable(db, endedBeforeMs); next !== undefined; next = nextPrunable(db, endedBeforeMs)) {
    pruneRun(db, next);
    runs += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { keys, runs };
}

function putHarness(db: Database, record: HarnessRecord): void {
  db.run(
    `INSERT INTO harnesses
       (harness_id, principal, name, base, default_model, system_prompt, disabled_tools, max_step, timeout_seconds,
        created_at, deleted)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (harness_id) DO UPDATE SET
       principal = excluded.principal, name = excluded.name, base = excluded.base, default_model = excluded.default_model,
       system_prompt = excluded.system_prompt, disabled_tools = excluded.disabled_tools, max_step = excluded.max_step,
       timeout_seconds = excluded.timeout_seconds, created_at = excluded.created_at, deleted = excluded.deleted`,
    record.harnessId,
    record.principal,
    record.name,
    record.base,
    record.defaultModel,
    record.systemPrompt,
    JSON.stringify(record.disabledTools),
    record.maxStep,
    record.timeoutSeconds,
    record.createdAtMs,
    record.deleted ? 1 : 0,
  );
}

function putKey(db: Database, record: KeyRecord): void {
  db.run(
    `INSERT INTO keys (key_id, principal, hash, scopes, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (key_id) DO UPDATE SET
       principal = excluded.principal, hash = excluded.hash, scopes = excluded.scopes,
       created_at = excluded.created_at, revoked_at = excluded.revoked_at`,
    record.keyId,
    record.principal,
    record.hash,
    JSON.stringify(record.scopes),
    record.createdAtMs,
    record.revokedAtMs,
  );
}
