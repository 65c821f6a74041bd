import { admitted } from '../rows/admitted.ts';
import type { RunId } from '../../core/ids.ts';
import { encodeEvents } from '../event-codec.ts';
import { capReached, capWindowMs, quotaReached } from '../principal-store.ts';
import type { Admission, AdmitResult } from '../admission.ts';
import { claimContents, shareContents } from './contents.ts';
import { spendingOf, taskCounts } from './principals.ts';
import type { Database, Reads, Transaction } from './database.ts';
import { flag, integer, nullable, text } from '../rows/columns.ts';
import { runId } from '../rows/records.ts';
import { uploadsValue } from './run-columns.ts';

/**
 * All that starts a task, or the reason why not, in one transaction: of many that race exactly one finds the key unused,
 * the session free and its tip unmoved (B106, B113), and a crash leaves either everything or nothing (B117).
 */
export function admit(db: Database, admission: Admission): AdmitResult {
  const body = encodeEvents(admission.events);
  return db.transaction(
    'durable',
    (tx) =>
      findReplay(tx, admission) ??
      findMissing(tx, admission) ??
      findParentOver(tx, admission) ??
      findCap(tx, admission) ??
      findQuota(tx, admission) ??
      takeSession(tx, admission) ??
      start(tx, admission, body),
  );
}

function findReplay(tx: Reads, { principal, idempotency }: Admission): AdmitResult | null {
  if (idempotency === undefined) return null;
  const row = tx.get(
    'SELECT run_id, body_hash FROM idempotency WHERE principal = ? AND key = ?',
    principal,
    idempotency.key,
  );
  if (row === undefined) return null;
  return {
    outcome: 'replayed',
    runId: runId(row, 'run_id'),
    sameBody: text(row, 'body_hash') === idempotency.bodyHash,
  };
}

/** An entry of the queue that was started or taken back meanwhile starts nothing. */
function findMissing(tx: Reads, { sessionId, queued }: Admission): AdmitResult | null {
  if (queued === undefined) return null;
  const sql = 'SELECT 1 FROM queued_tasks WHERE session_id = ? AND message_id = ? AND run_id IS NULL';
  return tx.get(sql, sessionId, queued.messageId) === undefined ? { outcome: 'not-queued' } : null;
}

/** A run that shall stop, or has ended, has nobody begin to work for it. */
function findParentOver(tx: Reads, { parentRunId }: Admission): AdmitResult | null {
  if (parentRunId === undefined) return null;
  const sql = `SELECT 1 FROM runs WHERE run_id = ? AND status = 'running' AND control <> 'cancel'`;
  return tx.get(sql, parentRunId) === undefined ? { outcome: 'parent-over' } : null;
}

/** As many tasks as the principal may have: counted here, so that of many at once no more come in (UR-53). */
function findCap(tx: Reads, { principal, caps, atMs }: Admission): AdmitResult | null {
  if (caps === undefined) return null;
  const reached = capReached(caps, taskCounts(tx, principal, atMs - capWindowMs), atMs);
  return reached === null ? null : { outcome: 'limited', ...reached };
}

function findQuota(tx: Reads, { principal, quota }: Admission): AdmitResult | null {
  if (quota === undefined) return null;
  const reached = quotaReached(quota, spendingOf(tx, principal, quota.day));
  return reached === null ? null : { outcome: 'exhausted', ...reached };
}

const insertSession = `
  INSERT INTO sessions
    (session_id, harness_id, principal, title, created_at, updated_at, internal, forked_from, fork_history)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;

type SessionRefusal = Extract<AdmitResult, { outcome: 'busy' | 'not-tip' | 'no-session' | 'expired' }>;
export type SessionClaim = Pick<
  Admission,
  'runId' | 'sessionId' | 'harnessId' | 'principal' | 'newSession' | 'previousRunId' | 'parentRunId' | 'atMs'
>;

/** Makes the session or checks that it can be continued; the reason for a refusal, else null. */
export function takeSession(tx: Transaction, admission: SessionClaim): SessionRefusal | null {
  const { sessionId, harnessId, principal, newSession, previousRunId, atMs } = admission;
  if (newSession !== undefined) {
    const { title, fork } = newSession;
    const gone = fork === undefined ? null : findForkGone(tx, fork.from);
    if (gone !== null) return gone;
    const from = fork === undefined ? [null, null] : [fork.from, JSON.stringify(fork.history)];
    const internal = admission.parentRunId === undefined ? 0 : 1;
    // Where another one has made it meanwhile, it is a session like any other.
    if (tx.run(insertSession, sessionId, harnessId, principal, title, atMs, atMs, internal, ...from) > 0) {
      if (fork !== undefined) shareContents(tx, admission.runId, fork.contents);
      return null;
    }
  }
  const select = `
    SELECT running_run_id, expired_at FROM sessions WHERE session_id = ? AND principal = ? AND deleted_at IS NULL`;
  const session = tx.get(select, sessionId, principal);
  if (session === undefined) return { outcome: 'no-session' };
  if (session['expired_at'] !== null) return { outcome: 'expired' };
  const runningRunId = nullable(session, 'running_run_id', runId);
  if (runningRunId !== null) return { outcome: 'busy', runningRunId };
  const tip = tipOf(tx, sessionId);
  return tip === previousRunId ? null : { outcome: 'not-tip', tip };
}

/** What is forked may have been deleted, or have expired, while its conversation and its files were copied. */
function findForkGone(tx: Reads, from: RunId): SessionRefusal | null {
  const select = `
    SELECT deleted, expired_at FROM runs JOIN sessions USING (session_id) WHERE run_id = ? AND deleted_at IS NULL`;
  const source = tx.get(select, from);
  if (source === undefined || flag(source, 'deleted')) return { outcome: 'no-session' };
  return source['expired_at'] === null ? null : { outcome: 'expired' };
}

/** The newest response of a session; a deleted one gives way to the one before it (UD-08). */
export function tipOf(db: Reads, session: string): RunId | null {
  const row = db.get(
    'SELECT run_id FROM runs WHERE session_id = ? AND deleted = 0 ORDER BY turn DESC LIMIT 1',
    session,
  );
  return row === undefined ? null : runId(row, 'run_id');
}

const insertRun = `
  INSERT INTO runs
    (run_id, session_id, harness_id, principal, turn, previous_run_id, parent_run_id, store, owner, created_at, uploads,
     status, first_batch)
  VALUES
    (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', (SELECT coalesce(max(batch_no), 0) + 1 FROM event_batches))`;
const insertFirstBatch = `
  INSERT INTO event_batches (run_no, first_seq, last_seq, body) SELECT run_no, 1, ?, ? FROM runs WHERE run_id = ?`;

function start(tx: Transaction, admission: Admission, body: string): AdmitResult {
  const { events, newSession: _, caps: _caps, quota: _quota, ...rest } = admission;
  const { idempotency, queued, parentRunId = null, uploads = [], atMs, ...facts } = rest;
  const { sessionId, principal } = facts;
  const turn = nextTurn(tx, sessionId);
  tx.run(
    'UPDATE sessions SET running_run_id = ?, updated_at = ? WHERE session_id = ?',
    admission.runId,
    atMs,
    sessionId,
  );
  const { runId: id, harnessId, previousRunId, store, owner } = facts;
  const before = [previousRunId, parentRunId];
  tx.run(
    insertRun,
    id,
    sessionId,
    harnessId,
    principal,
    turn,
    ...before,
    store ? 1 : 0,
    owner,
    atMs,
    uploadsValue(uploads),
  );
  tx.run('INSERT INTO heads (run_no, generation, last_seq, open) VALUES (last_insert_rowid(), 1, ?, 1)', events.length);
  tx.run(insertFirstBatch, events.length, body, id);
  if (idempotency !== undefined) {
    const claim = [principal, idempotency.key, admission.runId, idempotency.bodyHash];
    tx.run('INSERT INTO idempotency (principal, key, run_id, body_hash) VALUES (?, ?, ?, ?)', ...claim);
  }
  if (queued !== undefined) {
    const sql = 'UPDATE queued_tasks SET run_id = ? WHERE session_id = ? AND message_id = ?';
    tx.run(sql, id, sessionId, queued.messageId);
  }
  claimContents(tx, id);
  return admitted(admission, turn);
}

export function nextTurn(tx: Reads, session: string): number {
  const row = tx.get('SELECT coalesce(max(turn), 0) + 1 AS turn FROM runs WHERE session_id = ?', session);
  return row === undefined ? 1 : integer(row, 'turn');
}
