// Approvals as an index of what the logs say of them: the request and the decision are kept as the rows of their events.

import { type ApprovalId } from '../../core/ids.ts';
import { decidedBy } from '../../core/closing.ts';
import { statusAfter } from '../../core/run-state.ts';
import { encodeEvents } from '../event-codec.ts';
import { stampEvent } from '../event-shape.ts';
import type { ApprovalFilter, ApprovalRecord, Store, UnnumberedEvent } from '../store.ts';
import type { Reads, Transaction } from './database.ts';
import { approvalRecord } from '../rows/people-records.ts';
import { readable } from '../rows/records.ts';

type Request = Extract<UnnumberedEvent, { type: 'approval-required' | 'recovery-required' }>;
type Decision = Extract<UnnumberedEvent, { type: 'approval-decided' }>;

const selectApprovals = `
  SELECT approvals.*, run_id, session_id, harness_id FROM approvals JOIN runs USING (run_no)`;
export function approvalMethods(db: Reads): Pick<Store, 'approval' | 'approvals' | 'dueApprovals'> {
  return {
    approval: async (wanted) => findApproval(db, wanted),
    approvals: async (filter) => listApprovals(db, filter),
    async dueApprovals(nowMs) {
      const sql = `
        ${selectApprovals} WHERE decided IS NULL AND expires_at < ? AND parent_run_id IS NULL
        ORDER BY expires_at, approval_no`;
      return readable(db.all(sql, nowMs), approvalRecord);
    },
  };
}

export function findApproval(db: Reads, wanted: ApprovalId): ApprovalRecord | null {
  const row = db.get(`${selectApprovals} WHERE approval_id = ?`, wanted);
  return row === undefined ? null : approvalRecord(row);
}

function listApprovals(db: Reads, filter: ApprovalFilter): readonly ApprovalRecord[] {
  const { principal, runId: run, sessionId: session, kind, status, after, limit } = filter;
  const conditions = ['approvals.principal = ?'];
  const values: string[] = [principal];
  const add = (condition: string, value: string | undefined) => {
    if (value === undefined) return;
    conditions.push(condition);
    values.push(value);
  };
  add('run_id = ?', run);
  if (run === undefined) conditions.push('parent_run_id IS NULL');
  add('session_id = ?', session);
  add('kind = ?', kind);
  if (status === 'open') conditions.push('decided IS NULL');
  else if (status !== 'all') add('approvals.status = ?', status);
  add('approval_no < (SELECT approval_no FROM approvals WHERE approval_id = ?)', after);
  const sql = `${selectApprovals} WHERE ${conditions.join(' AND ')} ORDER BY approval_no DESC LIMIT ?`;
  return readable(db.all(sql, ...values, limit), approvalRecord);
}

// It is of the run in whose log it stands: what a sub-agent asks is asked again, under another id, by the run it works for.
const insertApproval = `
  INSERT INTO approvals (approval_id, run_no, principal, kind, status, expires_at, asked)
  SELECT ?, run_no, principal, ?, ?, ?, ? FROM runs WHERE run_no = ?
  ON CONFLICT (approval_id) DO NOTHING`;

export function openApproval(tx: Transaction, runNo: number, event: Request): void {
  const { approvalId: key, kind, status, expiresAtMs } = event.data;
  tx.run(insertApproval, key, kind, status, expiresAtMs, encodeEvents([event]), runNo);
}

/** Only the first decision counts (E-602). */
export function closeApproval(tx: Transaction, event: Decision): void {
  const sql = 'UPDATE approvals SET status = ?, decided = ? WHERE approval_id = ? AND decided IS NULL';
  tx.run(sql, statusAfter(event.data), encodeEvents([event]), event.data.approvalId);
}

/** What a run that ends has left open, its log having forgotten to say so: nobody can decide it any more. */
export function cancelApprovals(tx: Transaction, runNo: number, atMs: number): void {
  const open = tx.all(`${selectApprovals} WHERE run_no = ? AND decided IS NULL`, runNo);
  for (const { pending, runId: run, sessionId: session } of readable(open, approvalRecord)) {
    const draft = decidedBy(pending, { by: 'engine', step: pending.step, decision: 'cancelled' });
    const event = stampEvent(draft, { runId: run, sessionId: session, at: atMs, leg: 0 });
    if (event.type === 'approval-decided') closeApproval(tx, event);
  }
}
