import { hasExpired } from '../state/approvals.ts';
import type { ApprovalCard } from '../state/state.ts';

export interface ShownArguments {
  /** A text stands as it is, all else as JSON. */
  readonly entries: readonly (readonly [string, string])[];
  /** Null: they name none. */
  readonly cwd: string | null;
}

export function argumentsOf(json: string): ShownArguments {
  const value = parsed(json);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { entries: [['arguments', json]], cwd: null };
  const entries = Object.entries(value);
  const cwd: unknown = entries.find(([name]) => name === 'cwd')?.[1];
  return {
    entries: entries.map(([name, each]) => [name, typeof each === 'string' ? each : JSON.stringify(each, null, 2)]),
    cwd: typeof cwd === 'string' ? cwd : null,
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

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
