import { statusAfter } from '../core/run-state.ts';
import type { EventDraft, PendingTool, RunEvent } from '../core/run-event.ts';
import { toApproval, type Approval, type ApprovalPlace } from '../protocol/uhp/approval.ts';

export { toApproval, type Approval } from '../protocol/uhp/approval.ts';

/** The decisions a task waits for, as its stream shows them (UR-05). */
export class UhpApprovals {
  readonly #open = new Map<string, { readonly pending: PendingTool; readonly place: ApprovalPlace }>();

  /** Open entries, for `metadata.reins_pending` (UR-03). */
  get pending(): number {
    return this.#open.size;
  }

  required(pending: PendingTool, place: ApprovalPlace): Approval {
    this.#open.set(pending.approvalId, { pending, place });
    return toApproval(pending, place, null);
  }

  /** Null for a decision on what was never asked. */
  decided(event: Extract<EventDraft | RunEvent, { type: 'approval-decided' }>): Approval | null {
    const { data } = event;
    const entry = this.#open.get(data.approvalId);
    if (entry === undefined) return null;
    this.#open.delete(data.approvalId);
    const said = { ...data, atMs: 'at' in event ? event.at : null };
    return toApproval({ ...entry.pending, status: statusAfter(data) }, entry.place, said);
  }
}
