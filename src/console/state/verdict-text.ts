import type { Approval } from './wire.ts';
import type { ApprovalCard } from './state.ts';

/** What became of it, for good (C-051). */
export function verdictText({ approval, answer }: ApprovalCard, expired: boolean): string {
  const { decision, status } = approval;
  const by = decision === null ? '' : ` by ${decision.by}`;
  const note = decision?.note === null || decision === null ? '' : ` · ${decision.note}`;
  const other = answer.kind === 'conflict' ? 'Decided elsewhere: ' : '';
  switch (status) {
    case 'approved':
      return `${other}${decision?.rule_id === null || decision === null ? 'Allowed once' : 'Always allowed'}${by}${note}`;
    case 'denied':
      return `${other}Denied${by}${note}`;
    case 'answered':
      return `${other}Answered${by}${note}`;
    case 'resolved':
      return `${other}Resolved${by}${note}`;
    case 'cancelled':
      return 'No longer pending: the task was stopped';
    case 'expired':
      return 'Expired';
    case 'pending':
    case 'uncertain':
      return expired || hasExpired(approval, 0) ? 'Expired' : 'No longer pending';
  }
}

export function hasExpired({ status, expires_at }: Approval, nowMs: number): boolean {
  return status === 'expired' || (expires_at !== null && expires_at * 1_000 <= nowMs && status === 'pending');
}
