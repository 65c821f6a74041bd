import { admitted } from '../rows/admitted.ts';
import type { RunId } from '../../core/ids.ts';
import { encodeEvents } from '../event-codec.ts';
import { capReached, capWindowMs, quotaReached } from '../principal-store.ts';
import { flag, integer, nullable, text } from '../rows/columns.ts';
import { runId } from '../rows/records.ts';
import type { Admission, AdmitResult } from '../admission.ts';
import { claimContents, shareContents } from './contents.ts';
import { keyOf, lockName, type Database, type Reads, type Transaction, type Value } from './database.ts';
import { spendingOf, taskCounts } from './principals.ts';

/**
 * All that starts a task, or the reason why not, in one transaction: of many that race exactly one finds the key unused,
 * the session free and its tip unmoved (B106, B113), and a crash leaves either everything or nothing (B117). Each check locks
 * what it looks at: names of the principal and the key, the run above, the session, the waiting entry, in this order.
 */
export async function admit(db: Database, admission: Admission): Promise<AdmitResult> {
  const body = encodeEvents(admission.events);
  return db.transaction('durable', async (tx) => {
    const { principal, caps, idempotency } = admission;
    if (caps !== undefined) await lockName(tx, 'caps', principal);
    if (idempotency !== undefined) await lockName(tx, 'key', principal, idempotency.key);
    return (
      (await findReplay(tx, admission)) ??
      (await findMissing(tx, admission)) ??
      (await findParentOver(tx, admission)) ??
      (await findCap(tx, admission)) ??
      (await findQuota(tx, admission)) ??
      (await takeSession(tx, admission)) ??
      (await start(tx, admission, body))
    );
  });
}

async function findReplay(tx: Reads, { principal, idempotency }: Admission): Promise<AdmitResult | null> {
  if (idempotency === undefined) return null;
  const sql = 'SELECT run_id, body_hash FROM idempotency WHERE principal = $1 AND request_key = $2';
  const row = await tx.get(sql, principal, keyOf(idempotency.key));
  if (row === undefined) return null;
  const sameBody = text(row, 'body_hash') === idempotency.bodyHash;
  return { outcome: 'replayed', runId: runId(row, 'run_id'), sameBody };
}

/** An entry of the queue that was started or taken back meanwhile starts nothing. */
async function findMissing(tx: Reads, { sessionId, queued }: Admission): Promise<AdmitResult | null> {
  if (queued === undefined) return null;
  const sql = `
    SELECT 1 FROM queued_tasks WHERE session_id = $1 AND message_key = $2 AND run_id IS NULL FOR NO KEY UPDATE`;
  return (await tx.get(sql, sessionId, keyOf(queued.messageId))) === undefined ? { outcome: 'not-queued' } : null;
}

/** A run that shall stop, or has ended, has nobody begin to work for it. */
async function findParentOver(tx: Reads, { parentRunId }: Admission): Promise<AdmitResult | null> {
  if (parentRunId === undefined) return null;
  const sql = `SELECT 1 FROM runs WHERE run_id = $1 AND status = 'running' AND control <> 'cancel' FOR SHARE`;
  return (await tx.get(sql, parentRunId)) === undefined ? { outcome: 'parent-over' } : null;
}

/** As many tasks as the principal may have: counted here, so that of many at once no more come in (UR-53). */
async function findCap(tx: Reads, { principal, caps, atMs }: Admission): Promise<AdmitResult | null> {
  if (caps === undefined) return null;
  const reached = capReached(caps, await taskCounts(tx, principal, atMs - capWindowMs), atMs);
  return reached === null ? null : { outcome: 'limited', ...reached };
}

/** After the tasks at work: one of them that has ended since is charged by now. */
async function findQuota(tx: Reads, { principal, quota }: Admission): Promise<AdmitResult | null> {
  if (quota === undefined) return null;
  const reached = quotaReached(quota, await spendingOf(tx, principal, quota.day));
  return reached === null ? null : { outcome: 'exhausted', ...reached };
}

const insertSession = `
  INSERT INTO sessions
    (session_id, harness_id, principal, title, created_at, updated_at, internal, forked_from, fork_history)
  VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8) ON CONFLICT DO NOTHING`;
const selectSession = `
  SELECT running_run_id, expired_at FROM sessions
  WHERE session_id = $1 AND principal = $2 AND deleted_at IS NULL FOR NO KEY UPDATE`;

type SessionRefusal = Extract<AdmitResult, { outcome: 'busy' | 'not-tip' | 'no-session' | 'expired' }>;
export type SessionClaim = Pick<
  Admission,
  'runId' | 'sessionId' | 'harnessId' | 'principal' | 'newSession' | 'previousRunId' | 'parentRunId' | 'atMs'
>;

/** Makes the session or checks that it can be continued; the reason for a refusal, else null. */
export async function takeSession(tx: Transaction, claim: SessionClaim): Promise<SessionRefusal | null> {
  const { sessionId, harnessId, principal, newSession, previousRunId, atMs } = claim;
  if (newSession !== undefined) {
    const { title, fork } = newSession;
    const gone = fork === undefined ? null : await findForkGone(tx, fork.from);
    if (gone !== null) return gone;
    const from = fork === undefined ? [null, null] : [fork.from, JSON.stringify(fork.history)];
    const facts = [sessionId, harnessId, principal, title, atMs, claim.parentRunId !== undefined];
    // Where another one has made it meanwhile, it is a session like any other.
    if ((await tx.run(insertSession, ...facts, ...from)) > 0) {
      if (fork !== undefined) await shareContents(tx, claim.runId, fork.contents);
      return null;
    }
  }
  const session = await tx.get(selectSession, sessionId, principal);
  if (session === undefined) return { outcome: 'no-session' };
  if (session['expired_at'] !== null) return { outcome: 'expired' };
  const runningRunId = nullable(session, 'running_run_id', runId);
  if (runningRunId !== null) return { outcome: 'busy', runningRunId };
  const tip = await tipOf(tx, sessionId);
  return tip === previousRunId ? null : { outcome: 'not-tip', tip };
}

/** What is forked may have been deleted, or have expired, while its conversation and its files were copied. */
async function findForkGone(tx: Reads, from: RunId): Promise<SessionRefusal | null> {
  const select = `
    SELECT deleted, expired_at FROM runs JOIN sessions USING (session_id)
    WHERE run_id = $1 AND deleted_at IS NULL FOR SHARE OF sessions`;
  const source = await tx.get(select, from);
  if (source === undefined || flag(source, 'deleted')) return { outcome: 'no-session' };
  return source['expired_at'] === null ? null : { outcome: 'expired' };
}

/** The newest response of a session; a deleted one gives way to the one before it (UD-08). */
export async function tipOf(db: Reads, session: string): Promise<RunId | null> {
  const row = await db.get(
    'SELECT run_id FROM runs WHERE session_id = $1 AND NOT deleted ORDER BY turn DESC LIMIT 1',
    session,
  );
  return row === undefined ? null : runId(row, 'run_id');
}

const insertRun = `
  INSERT INTO runs
    (run_id, session_id, harness_id, principal, turn, previous_run_id, parent_run_id, store, owner, created_at, uploads,
     status)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'running') RETURNING run_no`;
const insertLog = `
  WITH head AS (INSERT INTO heads (run_no, generation, last_seq, open) VALUES ($1, 1, $2, 1))
  INSERT INTO event_batches (run_no, first_seq, last_seq, committed, body) VALUES ($1, 1, $2, true, $3)`;

async function start(tx: Transaction, admission: Admission, body: string): Promise<AdmitResult> {
  const { events, newSession: _, caps: _caps, quota: _quota, ...rest } = admission;
  const { idempotency, queued, parentRunId = null, uploads = [], atMs, ...facts } = rest;
  const { runId: id, sessionId, harnessId, principal, previousRunId, store, owner } = facts;
  const turn = await nextTurn(tx, sessionId);
  await tx.run('UPDATE sessions SET running_run_id = $1, updated_at = $2 WHERE session_id = $3', id, atMs, sessionId);
  const values: Value[] = [id, sessionId, harnessId, principal, turn, previousRunId, parentRunId, store, owner, atMs];
  const row = await tx.get(insertRun, ...values, uploads.length === 0 ? null : uploads);
  await tx.run(insertLog, row === undefined ? null : integer(row, 'run_no'), events.length, body);
  if (idempotency !== undefined) {
    const claim = [principal, keyOf(idempotency.key), id, idempotency.bodyHash];
    await tx.run(
      'INSERT INTO idempotency (principal, request_key, run_id, body_hash) VALUES ($1, $2, $3, $4)',
      ...claim,
    );
  }
  if (queued !== undefined) {
    const sql = 'UPDATE queued_tasks SET run_id = $1 WHERE session_id = $2 AND message_key = $3';
    await tx.run(sql, id, sessionId, keyOf(queued.messageId));
  }
  await claimContents(tx, id);
  return admitted(admission, turn);
}

export async function nextTurn(tx: Reads, session: string): Promise<number> {
  const row = await tx.get('SELECT coalesce(max(turn), 0) + 1 AS turn FROM runs WHERE session_id = $1', session);
  return row === undefined ? 1 : integer(row, 'turn');
}
