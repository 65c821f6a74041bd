// Sessions: their lists, their shares, and how they end (UD-61, U-370).
//
// - A session that is deleted is a tombstone in one transaction, and nothing of it can be read from then on. Its events, which
//   may be many, are removed after that, page by page; where a crash comes between, the next prune does it.
// - Its runs stay as tombstones while their idempotency keys answer for them (UD-08).

import { StorageError } from '../../core/errors.ts';
import { type SessionId } from '../../core/ids.ts';
import type { SessionFilter, SessionStore, ShareRecord } from '../session-store.ts';
import type { SessionRecord, Store } from '../store.ts';
import { releaseContents } from './contents.ts';
import type { Database, Reads, Row, Transaction } from './database.ts';
import { removeEvents } from './prune.ts';
import { integer, nullable, text } from '../rows/columns.ts';
import { forkHistory } from '../rows/fork-history.ts';
import { readable, runId, runStatus, sessionId, sessionRecord, shareRecord } from '../rows/records.ts';

type SessionMethods = SessionStore & Pick<Store, 'session' | 'forkHistory' | 'expireSessions'>;

export function sessionMethods(db: Database): SessionMethods {
  return {
    async session(key) {
      const row = db.get('SELECT * FROM sessions WHERE session_id = ? AND deleted_at IS NULL', key);
      return row === undefined ? null : sessionRecord(row);
    },
    sessions: async (filter) => listSessions(db, filter),
    async forkHistory(key) {
      const row = db.get('SELECT fork_history FROM sessions WHERE session_id = ?', key);
      return row === undefined ? null : nullable(row, 'fork_history', forkHistory);
    },
    expireSessions: async (due) => db.transaction('durable', (tx) => expireSessions(tx, due)),
    async renameSession(key, title) {
      const sql = 'UPDATE sessions SET title = ? WHERE session_id = ? AND expired_at IS NULL AND deleted_at IS NULL';
      return db.transaction('durable', (tx) => tx.run(sql, title, key) > 0);
    },
    deleteSession: async (key) => deleteSession(db, key),
    familyOf: async (key) => db.all(selectTree, key).map(member),
    async isSessionDeleted(key) {
      return db.get('SELECT 1 FROM sessions WHERE session_id = ? AND deleted_at IS NOT NULL', key) !== undefined;
    },
    async responsesOfSession(key, { after, limit } = { after: 0, limit: -1 }) {
      const sql = `
        SELECT run_id FROM runs WHERE session_id = ? AND turn > ? AND deleted = 0 AND (store = 1 OR status = 'running')
        ORDER BY turn LIMIT ?`;
      return db.all(sql, key, after, limit).map((row) => runId(row, 'run_id'));
    },
    share: async (key) => findShare(db, 'session_id', key),
    shareBySecret: async (secret) => findShare(db, 'secret', secret),
    putShare: async (share) => db.transaction('durable', (tx) => putShare(tx, share)),
    revokeShare: async (key) =>
      db.transaction('durable', (tx) => tx.run('DELETE FROM shares WHERE session_id = ?', key) > 0),
  };
}

function listSessions(db: Reads, { principal, harnessId, after, limit }: SessionFilter): readonly SessionRecord[] {
  const conditions = ['principal = ?', 'internal = 0', 'expired_at IS NULL', 'deleted_at IS NULL'];
  const values: (string | number)[] = [principal];
  if (harnessId !== undefined) {
    conditions.push('harness_id = ?');
    values.push(harnessId);
  }
  if (after !== undefined) {
    conditions.push('(updated_at < ? OR (updated_at = ? AND session_id > ?))');
    values.push(after.updatedAtMs, after.updatedAtMs, after.sessionId);
  }
  const sql = `
    SELECT * FROM sessions WHERE ${conditions.join(' AND ')} ORDER BY updated_at DESC, session_id LIMIT ?`;
  return readable(db.all(sql, ...values, limit), sessionRecord);
}

function expireSessions(
  tx: Transaction,
  { updatedBeforeMs, nowMs }: { readonly updatedBeforeMs: number; readonly nowMs: number },
): readonly SessionId[] {
  const sql = `
    UPDATE sessions SET expired_at = ? WHERE updated_at < ? AND running_run_id IS NULL AND expired_at IS NULL
      AND deleted_at IS NULL RETURNING session_id`;
  const expired = tx.returning(sql, nowMs, updatedBeforeMs).map((row) => sessionId(row, 'session_id'));
  for (const key of expired) {
    tx.run('DELETE FROM queued_tasks WHERE session_id = ? AND run_id IS NULL', key);
    tx.run('DELETE FROM shares WHERE session_id = ?', key);
    tx.run('DELETE FROM files WHERE session_id = ?', key);
  }
  return expired;
}

/** The runs of a session and all that worked for them, at any depth. */
const selectTree = `
  WITH RECURSIVE tree (run_id) AS (
    SELECT run_id FROM runs WHERE session_id = ?
    UNION SELECT runs.run_id FROM runs JOIN tree ON runs.parent_run_id = tree.run_id)
  SELECT run_no, run_id, session_id, status FROM runs JOIN tree USING (run_id) ORDER BY run_no`;

function member(row: Row): Awaited<ReturnType<SessionStore['familyOf']>>[number] {
  return { runId: runId(row, 'run_id'), sessionId: sessionId(row, 'session_id'), status: runStatus(row, 'status') };
}

async function deleteSession(db: Database, key: SessionId): Promise<boolean> {
  const runs = db.transaction('durable', (tx) => entomb(tx, key));
  for (const run of runs ?? [])
    for (const _page of removeEvents(db, run)) await new Promise((resolve) => setImmediate(resolve));
  return runs !== null;
}

/** Null: there is no such session. */
function entomb(tx: Transaction, key: SessionId): readonly number[] | null {
  const session = tx.get('SELECT 1 FROM sessions WHERE session_id = ? AND deleted_at IS NULL', key);
  if (session === undefined) return null;
  const tree = tx.all(selectTree, key);
  if (tree.some((row) => text(row, 'status') === 'running'))
    throw new StorageError('A session with a running task cannot be deleted.');
  for (const row of tree) removeRun(tx, integer(row, 'run_no'), text(row, 'run_id'));
  for (const each of new Set([key, ...tree.map((row) => text(row, 'session_id'))])) removeSession(tx, each);
  return tree.map((row) => integer(row, 'run_no'));
}

function removeRun(tx: Transaction, runNo: number, run: string): void {
  tx.run('UPDATE runs SET deleted = 1, response = NULL, pruned = 3 WHERE run_no = ?', runNo);
  tx.run('DELETE FROM approvals WHERE run_no = ?', runNo);
  tx.run('DELETE FROM messages WHERE run_no = ?', runNo);
  tx.run('DELETE FROM takeovers WHERE run_no = ?', runNo);
  releaseContents(tx, run);
}

function removeSession(tx: Transaction, key: string): void {
  for (const table of ['shares', 'files', 'rules', 'queued_tasks'])
    tx.run(`DELETE FROM ${table} WHERE session_id = ?`, key);
  const sql = `
    UPDATE sessions SET deleted_at = updated_at, title = '', fork_history = NULL WHERE session_id = ?`;
  tx.run(sql, key);
}

function findShare(db: Reads, column: 'session_id' | 'secret', value: string): ShareRecord | null {
  const row = db.get(`SELECT * FROM shares WHERE ${column} = ?`, value);
  return row === undefined ? null : shareRecord(row);
}

function putShare(tx: Transaction, share: ShareRecord): ShareRecord | null {
  // One that was deleted or has expired meanwhile is not published again.
  const sql = `
    INSERT INTO shares (share_id, session_id, secret, created_at) SELECT ?, session_id, ?, ? FROM sessions
    WHERE session_id = ? AND expired_at IS NULL AND deleted_at IS NULL ON CONFLICT DO NOTHING`;
  tx.run(sql, share.shareId, share.secret, share.createdAtMs, share.sessionId);
  return findShare(tx, 'session_id', share.sessionId);
}
