import type { ApprovalCard } from '../state/state.ts';
import type { Row, ToolRow } from '../state/row.ts';

const none: readonly ApprovalCard[] = [];

/** Those that stand with the calls that they are about. */
export function approvalsOf({ items }: Pick<ToolRow, 'items'>, approvals: readonly ApprovalCard[]) {
  if (approvals.length === 0) return none;
  const calls = new Set(items.map(({ id }) => id));
  return approvals.filter(({ approval }) => calls.has(approval.call_id));
}

/** Those whose call has no row: of a sub-agent, or of a time that is not shown. */
export function looseApprovals(rows: readonly Row[], approvals: readonly ApprovalCard[]) {
  if (approvals.length === 0) return none;
  const calls = new Set(rows.flatMap((row) => (row.kind === 'tool_run' ? row.items.map(({ id }) => id) : [])));
  return approvals.filter(({ approval }) => !calls.has(approval.call_id));
}
