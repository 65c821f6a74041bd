import type { EventData, EventDraft, PendingTool, RunEvent } from '../core/run-event.ts';
import { toApproval, type Approval, type ApprovalPlace } from '../protocol/uhp/approval.ts';

/** The decisions a task waits for, as its stream shows them (UR-05). */
export class UhpApprovals {
  readonly #open = new Map<string, Approval>();

  /** Open entries, for `metadata.reins_pending` (UR-03). */
  get pending(): number {
    return this.#open.size;
  }

  required(pending: PendingTool, place: ApprovalPlace): Approval {
    const approval = toApproval(pending, place);
    this.#open.set(approval.id, approval);
    return approval;
  }

  /** Null for a decision on what was never asked. */
  decided(event: Extract<EventDraft | RunEvent, { type: 'approval-decided' }>): Approval | null {
    const { approvalId, decision, by, note } = event.data;
    const approval = this.#open.get(approvalId);
    if (approval === undefined) return null;
    this.#open.delete(approvalId);
    const at = 'at' in event ? Math.floor(event.at / 1000) : null;
    const status = statusAfter(event.data);
    return { ...approval, status, decision: { decision, by, at, note: note ?? null, rule_id: null } };
  }
}

function statusAfter({ kind, decision }: EventData['approval-decided']): PendingTool['status'] {
  if (decision === 'expired' || decision === 'cancelled') return decision;
  if (kind === 'recovery') return 'resolved';
  if (kind === 'question') return 'answered';
  return decision === 'approve' || decision === 'approved' ? 'approved' : 'denied';
}
