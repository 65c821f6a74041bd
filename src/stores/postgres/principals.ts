import type { AuditFilter, KeyRecord, PrincipalStore, Spending, TaskCounts } from '../principal-store.ts';
import { integer, nullable } from '../rows/columns.ts';
import { auditEntry, keyId, keyRecord } from '../rows/principal-records.ts';
import { readable } from '../rows/records.ts';
import { allOf, write, type Database, type Reads, type Value } from './database.ts';

export function principalMethods(db: Database): PrincipalStore {
  return { ...keyMethods(db), ...spendingMethods(db), ...auditMethods(db) };
}

type KeyMethods = Pick<
  PrincipalStore,
  'keyByHash' | 'key' | 'keys' | 'putKey' | 'consoleSession' | 'putConsoleSession' | 'deleteConsoleSession'
>;

const upsertKey = `
  INSERT INTO keys (key_id, principal, name, hash, scopes, created_at, revoked_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (key_id) DO UPDATE SET
    principal = excluded.principal, name = excluded.name, hash = excluded.hash, scopes = excluded.scopes,
    created_at = excluded.created_at, revoked_at = excluded.revoked_at`;
const insertConsoleSession = 'INSERT INTO console_sessions (hash, key_id, expires_at) VALUES ($1, $2, $3)';

function keyMethods(db: Database): KeyMethods {
  return {
    keyByHash: (hash) => findKey(db, 'hash', hash),
    key: (key) => findKey(db, 'key_id', key),
    keys: async () => readable(await db.all('SELECT * FROM keys ORDER BY created_at, key_no'), keyRecord),
    async putKey({ keyId: key, principal, name, hash, scopes, createdAtMs, revokedAtMs }) {
      await write(db, upsertKey, key, principal, name, hash, JSON.stringify(scopes), createdAtMs, revokedAtMs);
    },
    async consoleSession(hash) {
      const row = await db.get('SELECT key_id, expires_at FROM console_sessions WHERE hash = $1', hash);
      return row === undefined ? null : { hash, keyId: keyId(row, 'key_id'), expiresAtMs: integer(row, 'expires_at') };
    },
    putConsoleSession: ({ hash, keyId: key, expiresAtMs }, nowMs) =>
      db.transaction('durable', async (tx) => {
        await tx.run('DELETE FROM console_sessions WHERE expires_at <= $1', nowMs);
        await tx.run(insertConsoleSession, hash, key, expiresAtMs);
      }),
    async deleteConsoleSession(hash) {
      await write(db, 'DELETE FROM console_sessions WHERE hash = $1', hash);
    },
  };
}

async function findKey(db: Reads, column: 'hash' | 'key_id', value: string): Promise<KeyRecord | null> {
  const row = await db.get(`SELECT * FROM keys WHERE ${column} = $1`, value);
  return row === undefined ? null : keyRecord(row);
}

const addSpending = `
  INSERT INTO spending (principal, day, tokens, dollars, upload_bytes) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (principal, day) DO UPDATE SET
    tokens = spending.tokens + excluded.tokens, dollars = spending.dollars + excluded.dollars,
    upload_bytes = spending.upload_bytes + excluded.upload_bytes`;
/** One statement, so that of many at once none passes the limit. */
const reserve = `
  INSERT INTO spending (principal, day, tokens, dollars, upload_bytes)
  SELECT $1, $2, 0, 0, $3::bigint WHERE $4::bigint IS NULL OR $3::bigint <= $4::bigint
  ON CONFLICT (principal, day) DO UPDATE SET upload_bytes = spending.upload_bytes + excluded.upload_bytes
  WHERE $4::bigint IS NULL OR spending.upload_bytes + excluded.upload_bytes <= $4::bigint`;

function spendingMethods(db: Database): Pick<PrincipalStore, 'spending' | 'spend' | 'reserveUpload' | 'taskCounts'> {
  return {
    spending: (principal, day) => spendingOf(db, principal, day),
    async spend(principal, day, { tokens = 0, dollars = 0, uploadBytes = 0 }) {
      await write(db, addSpending, principal, day, tokens, dollars, uploadBytes);
    },
    reserveUpload: async (principal, day, { bytes, limit }) =>
      (await write(db, reserve, principal, day, bytes, limit)) === 1,
    taskCounts: (principal, sinceMs) => taskCounts(db, principal, sinceMs),
  };
}

export async function spendingOf(db: Reads, principal: string, day: string): Promise<Spending> {
  const row = await db.get('SELECT * FROM spending WHERE principal = $1 AND day = $2', principal, day);
  if (row === undefined) return { tokens: 0, dollars: 0, uploadBytes: 0 };
  return {
    tokens: integer(row, 'tokens'),
    dollars: integer(row, 'dollars'),
    uploadBytes: integer(row, 'upload_bytes'),
  };
}

const countTasks = `
  SELECT (SELECT count(*) FROM runs WHERE principal = $1 AND parent_run_id IS NULL AND status = 'running') AS running,
    count(*) AS begun, min(created_at) AS oldest
  FROM runs WHERE principal = $1 AND parent_run_id IS NULL AND created_at > $2`;

/** Runs that work for others are no tasks of their principal's. */
export async function taskCounts(db: Reads, principal: string, sinceMs: number): Promise<TaskCounts> {
  const row = (await db.get(countTasks, principal, sinceMs)) ?? {};
  return {
    running: integer(row, 'running'),
    begun: integer(row, 'begun'),
    oldestAtMs: nullable(row, 'oldest', integer),
  };
}

const insertAudit = `
  INSERT INTO audit (entry_id, at, principal, key_id, action, object, request_id) VALUES ($1, $2, $3, $4, $5, $6, $7)`;

function auditMethods(db: Database): Pick<PrincipalStore, 'appendAudit' | 'auditEntry' | 'audit' | 'pruneAudit'> {
  return {
    async appendAudit({ entryId, atMs, principal, keyId: key, action, object, requestId }) {
      await write(db, insertAudit, entryId, atMs, principal, key, action, object, requestId);
    },
    async auditEntry(entryId) {
      const row = await db.get('SELECT * FROM audit WHERE entry_id = $1', entryId);
      return row === undefined ? null : auditEntry(row);
    },
    audit: async (filter) => readable(await db.all(...auditQuery(filter)), auditEntry),
    pruneAudit: (beforeMs) =>
      db.transaction('fast', (tx) => tx.run('DELETE FROM audit WHERE at < $1', beforeMs), 'long'),
  };
}

function auditQuery({ principal, action, after, limit }: AuditFilter): [string, ...Value[]] {
  const { where, values } = allOf([
    { sql: 'principal = ?', value: principal },
    { sql: 'action = ?', value: action },
    { sql: 'entry_no < (SELECT entry_no FROM audit WHERE entry_id = ?)', value: after },
  ]);
  return [`SELECT * FROM audit WHERE ${where} ORDER BY entry_no DESC LIMIT $${values.length + 1}`, ...values, limit];
}
