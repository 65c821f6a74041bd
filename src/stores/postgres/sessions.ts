// Sessions: their lists, their shares, and how they end (UD-61, U-370).
//
// - A session that is deleted is a tombstone in one transaction, and nothing of it can be read from then on. Its events, which
//   may be many, are removed after that, page by page; where a crash comes between, the next prune does it.
// - Its runs stay as tombstones while their idempotency keys answer for them (UD-08).

import { StorageError } from '../../core/errors.ts';
import type { SessionId } from '../../core/ids.ts';
import type { SessionFilter, SessionStore, ShareRecord } from '../session-store.ts';
import type { SessionRecord, Store } from '../store.ts';
import { integer, nullable, text, type Fields } from '../rows/columns.ts';
import { forkHistory } from '../rows/fork-history.ts';
import { readable, runId, runStatus, sessionId, sessionRecord, shareRecord } from '../rows/records.ts';
import { releaseContents } from './contents.ts';
import { allOf, write, type Database, type Reads, type Transaction } from './database.ts';
import { removeEvents } from './prune.ts';

type SessionMethods = SessionStore & Pick<Store, 'session' | 'forkHistory' | 'expireSessions'>;

export function sessionMethods(db: Database): SessionMethods {
  return {
    async session(key) {
      const row = await db.get('SELECT * FROM sessions WHERE session_id = $1 AND deleted_at IS NULL', key);
      return row === undefined ? null : sessionRecord(row);
    },
    sessions: (filter) => listSessions(db, filter),
    async forkHistory(key) {
      const row = await db.get('SELECT fork_history FROM sessions WHERE session_id = $1', key);
      return row === undefined ? null : nullable(row, 'fork_history', forkHistory);
    },
    expireSessions: (due) => db.transaction('durable', (tx) => expireSessions(tx, due)),
    async renameSession(key, title) {
      const sql = 'UPDATE sessions SET title = $2 WHERE session_id = $1 AND expired_at IS NULL AND deleted_at IS NULL';
      return (await write(db, sql, key, title)) > 0;
    },
    deleteSession: (key) => deleteSession(db, key),
    familyOf: async (key) => (await db.all(selectTree, key)).map(member),
    async isSessionDeleted(key) {
      const sql = 'SELECT 1 FROM sessions WHERE session_id = $1 AND deleted_at IS NOT NULL';
      return (await db.get(sql, key)) !== undefined;
    },
    async responsesOfSession(key, page) {
      const sql = `
        SELECT run_id FROM runs WHERE session_id = $1 AND turn > $2 AND NOT deleted AND (store OR status = 'running')
        ORDER BY turn LIMIT $3`;
      return (await db.all(sql, key, page?.after ?? 0, page?.limit ?? null)).map((row) => runId(row, 'run_id'));
    },
    share: (key) => findShare(db, 'session_id', key),
    shareBySecret: (secret) => findShare(db, 'secret', secret),
    putShare: (share) => db.transaction('durable', (tx) => putShare(tx, share)),
    revokeShare: async (key) => (await write(db, 'DELETE FROM shares WHERE session_id = $1', key)) > 0,
  };
}

async function listSessions(
  db: Reads,
  { principal, harnessId, after, limit }: SessionFilter,
): Promise<readonly SessionRecord[]> {
  const { where, values } = allOf([
    { sql: 'principal = ? AND NOT internal AND expired_at IS NULL AND deleted_at IS NULL', value: principal },
    { sql: 'updated_at <= ?', value: after?.updatedAtMs },
    { sql: '(updated_at < $2 OR session_id > ?)', value: after?.sessionId },
    { sql: 'harness_id = ?', value: harnessId },
  ]);
  const sql = `
    SELECT * FROM sessions WHERE ${where} ORDER BY updated_at DESC, session_id LIMIT $${values.length + 1}`;
  return readable(await db.all(sql, ...values, limit), sessionRecord);
}

/** Whoever works with one at this moment keeps it: it is passed over. */
const expire = `
  WITH due AS (
    SELECT session_id FROM sessions WHERE updated_at < $2 AND running_run_id IS NULL AND expired_at IS NULL
      AND deleted_at IS NULL FOR UPDATE SKIP LOCKED)
  UPDATE sessions SET expired_at = $1 FROM due WHERE sessions.session_id = due.session_id RETURNING due.session_id`;

async function expireSessions(
  tx: Transaction,
  { updatedBeforeMs, nowMs }: { readonly updatedBeforeMs: number; readonly nowMs: number },
): Promise<readonly SessionId[]> {
  const expired = (await tx.all(expire, nowMs, updatedBeforeMs)).map((row) => sessionId(row, 'session_id'));
  if (expired.length === 0) return expired;
  await tx.run('DELETE FROM queued_tasks WHERE session_id = ANY($1::text[]) AND run_id IS NULL', expired);
  await tx.run('DELETE FROM shares WHERE session_id = ANY($1::text[])', expired);
  await tx.run('DELETE FROM files WHERE session_id = ANY($1::text[])', expired);
  return expired;
}

/** The runs of a session and all that worked for them, at any depth. */
const selectTree = `
  WITH RECURSIVE tree (run_id) AS (
    SELECT run_id FROM runs WHERE session_id = $1
    UNION SELECT runs.run_id FROM runs JOIN tree ON runs.parent_run_id = tree.run_id)
  SELECT run_no, run_id, session_id, status FROM runs JOIN tree USING (run_id) ORDER BY run_no`;

function member(row: Fields): Awaited<ReturnType<SessionStore['familyOf']>>[number] {
  return { runId: runId(row, 'run_id'), sessionId: sessionId(row, 'session_id'), status: runStatus(row, 'status') };
}

async function deleteSession(db: Database, key: SessionId): Promise<boolean> {
  const runs = await db.transaction('durable', (tx) => entomb(tx, key));
  for (const run of runs ?? []) await removeEvents(db, run);
  return runs !== null;
}

/** Null: there is no such session. */
async function entomb(tx: Transaction, key: SessionId): Promise<readonly number[] | null> {
  const select = 'SELECT 1 FROM sessions WHERE session_id = $1 AND deleted_at IS NULL FOR UPDATE';
  if ((await tx.get(select, key)) === undefined) return null;
  const tree = await tx.all(selectTree, key);
  if (tree.some((row) => text(row, 'status') === 'running'))
    throw new StorageError('A session with a running task cannot be deleted.');
  const runNos = tree.map((row) => integer(row, 'run_no'));
  await tx.run(`UPDATE runs SET deleted = true, response = NULL, pruned = 3 WHERE run_no = ANY($1::bigint[])`, runNos);
  for (const table of ['approvals', 'messages', 'takeovers'])
    await tx.run(`DELETE FROM ${table} WHERE run_no = ANY($1::bigint[])`, runNos);
  await releaseContents(
    tx,
    tree.map((row) => text(row, 'run_id')),
  );
  const sessions = [...new Set([key, ...tree.map((row) => text(row, 'session_id'))])];
  for (const table of ['shares', 'files', 'rules', 'queued_tasks'])
    await tx.run(`DELETE FROM ${table} WHERE session_id = ANY($1::text[])`, sessions);
  const bury = `
    UPDATE sessions SET deleted_at = updated_at, title = '', fork_history = NULL WHERE session_id = ANY($1::text[])`;
  await tx.run(bury, sessions);
  return runNos;
}

async function findShare(db: Reads, column: 'session_id' | 'secret', value: string): Promise<ShareRecord | null> {
  const row = await db.get(`SELECT * FROM shares WHERE ${column} = $1`, value);
  return row === undefined ? null : shareRecord(row);
}

/** A session that was deleted or has expired meanwhile is not published again. */
const insertShare = `
  INSERT INTO shares (share_id, session_id, secret, created_at) SELECT $1, session_id, $2, $3::bigint FROM sessions
  WHERE session_id = $4 AND expired_at IS NULL AND deleted_at IS NULL FOR SHARE ON CONFLICT DO NOTHING`;

async function putShare(tx: Transaction, share: ShareRecord): Promise<ShareRecord | null> {
  await tx.run(insertShare, share.shareId, share.secret, share.createdAtMs, share.sessionId);
  return findShare(tx, 'session_id', share.sessionId);
}
