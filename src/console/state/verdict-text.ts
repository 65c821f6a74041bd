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
      return `${other}${decision?.decision === 'decline' ? 'Not answered' : 'Answered'}${by}${note}`;
    case 'resolved':
      return `${other}${resolutions[decision?.decision ?? ''] ?? 'Resolved'}${by}${note}`;
    case 'cancelled':
      return 'No longer pending: the task was stopped';
    case 'expired':
      return 'Expired';
    case 'pending':
    case 'uncertain':
      return expired || hasExpired(approval, 0) ? 'Expired' : 'No longer pending';
  }
}

const resolutions: Readonly<Record<string, string>> = {
  retry: 'Run again',
  abort: 'Given up',
  result: 'Went on with a result given',
};

/** Whether it went on as the call had asked for. */
export function wasGranted({ decision }: Pick<Approval, 'decision'>): boolean {
  return decision !== null && ['approve', 'answer', 'retry', 'result'].includes(decision.decision);
}

export function hasExpired({ status, expires_at }: Approval, nowMs: number): boolean {
  return status === 'expired' || (expires_at !== null && expires_at * 1_000 <= nowMs && status === 'pending');
}
