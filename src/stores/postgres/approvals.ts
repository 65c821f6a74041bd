// Approvals as an index of what the logs say of them: the request and the decision are kept as the rows of their events.

import type { ApprovalId } from '../../core/ids.ts';
import { decidedBy } from '../../core/closing.ts';
import { statusAfter } from '../../core/run-state.ts';
import { encodeEvents } from '../event-codec.ts';
import { stampEvent } from '../event-shape.ts';
import { approvalRecord } from '../rows/people-records.ts';
import { readable } from '../rows/records.ts';
import type { ApprovalFilter, ApprovalRecord, Store, UnnumberedEvent } from '../store.ts';
import { allOf, type Reads, type Transaction } from './database.ts';
import type { EndOfRun } from './end-runs.ts';

type Request = Extract<UnnumberedEvent, { type: 'approval-required' | 'recovery-required' }>;
type Decision = Extract<UnnumberedEvent, { type: 'approval-decided' }>;

const selectApprovals = `
  SELECT approvals.*, run_id, session_id, harness_id FROM approvals JOIN runs USING (run_no)`;

export function approvalMethods(db: Reads): Pick<Store, 'approval' | 'approvals' | 'dueApprovals'> {
  return {
    approval: (wanted) => findApproval(db, wanted),
    approvals: (filter) => listApprovals(db, filter),
    async dueApprovals(nowMs) {
      const sql = `
        ${selectApprovals} WHERE decided IS NULL AND expires_at < $1 AND parent_run_id IS NULL
        ORDER BY expires_at, approval_no`;
      return readable(await db.all(sql, nowMs), approvalRecord);
    },
  };
}

export async function findApproval(db: Reads, wanted: ApprovalId): Promise<ApprovalRecord | null> {
  const row = await db.get(`${selectApprovals} WHERE approval_id = $1`, wanted);
  return row === undefined ? null : approvalRecord(row);
}

async function listApprovals(db: Reads, filter: ApprovalFilter): Promise<readonly ApprovalRecord[]> {
  const { principal, runId: run, sessionId: session, kind, status, after, limit } = filter;
  const { where, values } = allOf([
    { sql: 'approvals.principal = ?', value: principal },
    run === undefined ? { sql: 'parent_run_id IS NULL' } : { sql: 'run_id = ?', value: run },
    { sql: 'session_id = ?', value: session },
    { sql: 'kind = ?', value: kind },
    status === 'open'
      ? { sql: 'decided IS NULL' }
      : { sql: 'approvals.status = ?', value: status === 'all' ? undefined : status },
    { sql: 'approval_no < (SELECT approval_no FROM approvals WHERE approval_id = ?)', value: after },
  ]);
  const sql = `${selectApprovals} WHERE ${where} ORDER BY approval_no DESC LIMIT $${values.length + 1}`;
  return readable(await db.all(sql, ...values, limit), approvalRecord);
}

// It is of the run in whose log it stands: what a sub-agent asks is asked again, under another id, by the run it works for.
const insertApproval = `
  INSERT INTO approvals (approval_id, run_no, principal, kind, status, expires_at, asked)
  SELECT $1, run_no, principal, $2, $3, $4::bigint, $5 FROM runs WHERE run_no = $6
  ON CONFLICT (approval_id) DO NOTHING`;

export async function openApproval(tx: Transaction, runNo: number, event: Request): Promise<void> {
  const { approvalId: key, kind, status, expiresAtMs } = event.data;
  await tx.run(insertApproval, key, kind, status, expiresAtMs, encodeEvents([event]), runNo);
}

/** Only the first decision counts (E-602). */
export async function closeApproval(tx: Transaction, event: Decision): Promise<void> {
  const sql = 'UPDATE approvals SET status = $1, decided = $2 WHERE approval_id = $3 AND decided IS NULL';
  await tx.run(sql, statusAfter(event.data), encodeEvents([event]), event.data.approvalId);
}

/** What runs that end have left open, their logs having forgotten to say so: nobody can decide it any more. */
export async function cancelApprovals(tx: Transaction, ends: readonly EndOfRun[]): Promise<void> {
  for (const { runNo, end } of ends) {
    const open = await tx.all(`${selectApprovals} WHERE run_no = $1 AND decided IS NULL`, runNo);
    for (const { pending, runId, sessionId } of readable(open, approvalRecord)) {
      const draft = decidedBy(pending, { by: 'engine', step: pending.step, decision: 'cancelled' });
      const event = stampEvent(draft, { runId, sessionId, at: end.atMs, leg: 0 });
      if (event.type === 'approval-decided') await closeApproval(tx, event);
    }
  }
}
