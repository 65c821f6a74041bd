import { isUndecided } from '../state/from-uhp.ts';
import { responseIdOf } from '../state/load-earlier.ts';
import { turnOf, type ApprovalCard, type ConsoleState } from '../state/state.ts';
import type { ToolRow, TurnId } from '../state/row.ts';

type Placed = Pick<ConsoleState, 'rows' | 'approvals' | 'responses' | 'phase'>;

const none: readonly ApprovalCard[] = [];

/** Those that stand with the calls that they are about. Two turns may have given one id to two calls. */
export function approvalsOf(
  { items, turn }: Pick<ToolRow, 'items' | 'turn'>,
  { approvals, responses }: Pick<Placed, 'approvals' | 'responses'>,
): readonly ApprovalCard[] {
  if (approvals.length === 0) return none;
  const [calls, responseId] = [new Set(items.map(({ id }) => id)), responseIdOf({ responses }, turn)];
  return approvals.filter(
    ({ approval, answer }) =>
      answer.kind !== 'dismissed' && approval.response_id === responseId && calls.has(approval.call_id),
  );
}

/**
 * Those whose call has no row: of a sub-agent, or of a time that is not shown.
 * @param of  A turn that is over: what was decided in it. Null: what waits, and what was decided in the turn at work.
 */
export function looseApprovals(state: Placed, of: TurnId | null): readonly ApprovalCard[] {
  const turn = of ?? turnOf(state)?.id ?? null;
  const responseId = turn === null ? null : responseIdOf(state, turn);
  const meant = state.approvals.filter(
    ({ approval, answer }) =>
      answer.kind !== 'dismissed' && (isUndecided(approval) ? of === null : approval.response_id === responseId),
  );
  if (meant.length === 0) return none;
  const placed = new Set(
    state.rows.flatMap((row) => (row.kind === 'tool_run' ? approvalsOf(row, { ...state, approvals: meant }) : [])),
  );
  return meant.filter((card) => !placed.has(card));
}
