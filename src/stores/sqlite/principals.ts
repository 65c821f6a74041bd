import type { SQLInputValue } from 'node:sqlite';
import type { AuditFilter, KeyRecord, PrincipalStore, Spending, TaskCounts } from '../principal-store.ts';
import { write, type Database, type Reads, type Transaction } from './database.ts';
import { integer, nullable } from '../rows/columns.ts';
import { auditEntry, keyId, keyRecord } from '../rows/principal-records.ts';
import { readable } from '../rows/records.ts';

export function principalMethods(db: Database): PrincipalStore {
  return {
    keyByHash: async (hash) => findKey(db, 'hash', hash),
    key: async (key) => findKey(db, 'key_id', key),
    keys: async () => readable(db.all('SELECT * FROM keys ORDER BY created_at, rowid'), keyRecord),
    putKey: async (record) => void write(db, upsertKey, ...keyValues(record)),

    async consoleSession(hash) {
      const row = db.get('SELECT key_id, expires_at FROM console_sessions WHERE hash = ?', hash);
      return row === undefined ? null : { hash, keyId: keyId(row, 'key_id'), expiresAtMs: integer(row, 'expires_at') };
    },
    putConsoleSession: async ({ hash, keyId: key, expiresAtMs }, nowMs) =>
      db.transaction('durable', (tx) => {
        tx.run('DELETE FROM console_sessions WHERE expires_at <= ?', nowMs);
        tx.run('INSERT INTO console_sessions (hash, key_id, expires_at) VALUES (?, ?, ?)', hash, key, expiresAtMs);
      }),
    deleteConsoleSession: async (hash) => void write(db, 'DELETE FROM console_sessions WHERE hash = ?', hash),

    spending: async (principal, day) => spendingOf(db, principal, day),
    spend: async (principal, day, more) => db.transaction('durable', (tx) => spend(tx, { principal, day, more })),
    reserveUpload: async (principal, day, upload) =>
      db.transaction('durable', (tx) => reserveUpload(tx, { principal, day, ...upload })),
    taskCounts: async (principal, sinceMs) => taskCounts(db, principal, sinceMs),

    async appendAudit({ entryId, atMs, principal, keyId: key, action, object, requestId }) {
      write(db, insertAudit, entryId, atMs, principal, key, action, object, requestId);
    },
    async auditEntry(entryId) {
      const row = db.get('SELECT * FROM audit WHERE entry_id = ?', entryId);
      return row === undefined ? null : auditEntry(row);
    },
    audit: async (filter) => readable(db.all(...auditQuery(filter)), auditEntry),
    pruneAudit: async (beforeMs) => write(db, 'DELETE FROM audit WHERE at < ?', beforeMs),
  };
}

function findKey(db: Reads, column: 'hash' | 'key_id', value: string): KeyRecord | null {
  const row = db.get(`SELECT * FROM keys WHERE ${column} = ?`, value);
  return row === undefined ? null : keyRecord(row);
}

const upsertKey = `
  INSERT INTO keys (key_id, principal, name, hash, scopes, created_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (key_id) DO UPDATE SET
    principal = excluded.principal, name = excluded.name, hash = excluded.hash, scopes = excluded.scopes,
    created_at = excluded.created_at, revoked_at = excluded.revoked_at`;

function keyValues({ keyId: key, principal, name, hash, scopes, createdAtMs, revokedAtMs }: KeyRecord) {
  return [key, principal, name, hash, JSON.stringify(scopes), createdAtMs, revokedAtMs];
}

export function spendingOf(db: Reads, principal: string, day: string): Spending {
  const row = db.get('SELECT * FROM spending WHERE principal = ? AND day = ?', principal, day);
  if (row === undefined) return { tokens: 0, dollars: 0, uploadBytes: 0 };
  return {
    tokens: integer(row, 'tokens'),
    dollars: integer(row, 'dollars'),
    uploadBytes: integer(row, 'upload_bytes'),
  };
}

const addSpending = `
  INSERT INTO spending (principal, day, tokens, dollars, upload_bytes) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (principal, day) DO UPDATE SET
    tokens = tokens + excluded.tokens, dollars = dollars + excluded.dollars,
    upload_bytes = upload_bytes + excluded.upload_bytes`;

export function spend(
  tx: Transaction,
  { principal, day, more }: { readonly principal: string; readonly day: string; readonly more: Partial<Spending> },
): void {
  const { tokens = 0, dollars = 0, uploadBytes = 0 } = more;
  tx.run(addSpending, principal, day, tokens, dollars, uploadBytes);
}

function reserveUpload(
  tx: Transaction,
  { bytes, limit, ...at }: { principal: string; day: string } & Parameters<PrincipalStore['reserveUpload']>[2],
): boolean {
  if (limit !== null && spendingOf(tx, at.principal, at.day).uploadBytes + bytes > limit) return false;
  spend(tx, { ...at, more: { uploadBytes: bytes } });
  return true;
}

/** Runs that work for others are no tasks of their principal's. */
export function taskCounts(db: Reads, principal: string, sinceMs: number): TaskCounts {
  const own = 'principal = ? AND parent_run_id IS NULL';
  const running = db.get(`SELECT count(*) AS n FROM runs WHERE ${own} AND status = 'running'`, principal);
  const begun = db.get(
    `SELECT count(*) AS n, min(created_at) AS oldest FROM runs WHERE ${own} AND created_at > ?`,
    principal,
    sinceMs,
  );
  return {
    running: running === undefined ? 0 : integer(running, 'n'),
    begun: begun === undefined ? 0 : integer(begun, 'n'),
    oldestAtMs: begun === undefined ? null : nullable(begun, 'oldest', integer),
  };
}

const insertAudit = `
  INSERT INTO audit (entry_id, at, principal, key_id, action, object, request_id) VALUES (?, ?, ?, ?, ?, ?, ?)`;

function auditQuery({ principal, action, after, limit }: AuditFilter): [string, ...SQLInputValue[]] {
  const asked = [
    { sql: 'principal = ?', value: principal },
    { sql: 'action = ?', value: action },
    { sql: 'entry_no < (SELECT entry_no FROM audit WHERE entry_id = ?)', value: after },
  ].flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]));
  const where = asked.length === 0 ? '' : `WHERE ${asked.map(({ sql }) => sql).join(' AND ')}`;
  const sql = `SELECT * FROM audit ${where} ORDER BY entry_no DESC LIMIT ?`;
  return [sql, ...asked.map(({ value }) => value), limit];
}
