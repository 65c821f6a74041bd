// What waits for a person to decide (C-050, C-051). The server's list is the truth; events of the turn only keep it fresh.

import { isUndecided } from './from-uhp.ts';
import { andThen, stay, withEffects, type Reduced } from './reduced.ts';
import { hasExpired, verdictText } from './verdict-text.ts';
import type { Action } from './action.ts';
import type { AnswerState, ApprovalCard, ConsoleState } from './state.ts';
import type { Approval, Decision } from './wire.ts';
import type { Verdict } from './effect.ts';

/** The list says which sessions wait for somebody. */
const anewListed = { type: 'loadSessions', cursor: null } as const;

export function upsertApproval(state: ConsoleState, approval: Approval): Reduced {
  const before = state.approvals.find((card) => card.approval.id === approval.id);
  if (before !== undefined)
    return announceOutcome(
      state,
      change(state, approval.id, (card) => ({
        approval,
        answer: isUndecided(approval) ? card.answer : settled(card.answer),
      })),
      approval.id,
    );
  const added: ConsoleState = { ...state, approvals: [...state.approvals, { approval, answer: { kind: 'none' } }] };
  if (!isUndecided(approval)) return stay(added);
  return withEffects(added, anewListed, {
    type: 'announce',
    text: `${approval.name} waits for your decision`,
    urgency: 'alert',
  });
}

/** Once: the answer to a person's word and the event of the stream both bring it. */
function announceOutcome(before: ConsoleState, after: ConsoleState, id: string): Reduced {
  const find = ({ approvals }: ConsoleState) => approvals.find(({ approval }) => approval.id === id);
  const [was, is] = [find(before), find(after)];
  if (was === undefined || is === undefined || !isUndecided(was.approval) || isUndecided(is.approval))
    return stay(after);
  const text = `${is.approval.name}: ${verdictText(is, false)}`;
  return withEffects(after, anewListed, { type: 'announce', text, urgency: 'status' });
}

/** A conflict stays told, and what was put away stays so; the rest is in the record. */
function settled(answer: AnswerState): AnswerState {
  return answer.kind === 'sending' || answer.kind === 'failed' ? { kind: 'none' } : answer;
}

/** What the server lists for the session. A list that was made before a decision takes none back. */
export function loadApprovals(state: ConsoleState, approvals: readonly Approval[]): Reduced {
  const listed = new Map<string, Approval>(approvals.map((approval) => [approval.id, approval]));
  const known = state.approvals.map((card): ApprovalCard => {
    const approval = listed.get(card.approval.id);
    return approval === undefined || !isUndecided(card.approval) ? card : { ...card, approval };
  });
  const before = new Set<string>(state.approvals.map(({ approval }) => approval.id));
  const added = approvals.filter((each) => !before.has(each.id));
  const cards = added.map((approval): ApprovalCard => ({ approval, answer: { kind: 'none' } }));
  const next: ConsoleState = { ...state, approvals: [...known, ...cards] };
  const open = added.filter(isUndecided);
  if (open.length === 0) return stay(next);
  const text = open.length === 1 ? `${open[0]?.name} waits for your decision` : `${open.length} decisions wait for you`;
  return withEffects(next, { type: 'announce', text, urgency: 'alert' });
}

/** Idempotent on the server, and bound to the arguments that were shown (C-051). */
export function giveVerdict(state: ConsoleState, approvalId: string, verdict: Verdict): Reduced {
  const card = state.approvals.find(({ approval }) => approval.id === approvalId);
  if (
    card === undefined ||
    !isUndecided(card.approval) ||
    card.answer.kind === 'sending' ||
    card.answer.kind === 'closed'
  )
    return stay(state);
  const bound: Verdict =
    verdict.verb === 'decide'
      ? { ...verdict, body: { arguments_digest: card.approval.arguments_digest, ...verdict.body } }
      : verdict;
  const sending = change(state, approvalId, (each) => ({ ...each, answer: { kind: 'sending' } }));
  return withEffects(sending, { type: 'decide', approvalId, ...bound });
}

export function takeDecision(state: ConsoleState, approval: Approval): Reduced {
  const decided = change(state, approval.id, () => ({ approval, answer: { kind: 'none' } }));
  const next = decided.approvals.find((card) => card.approval.id !== approval.id && needsPerson(card));
  const target =
    next === undefined ? ({ kind: 'composer' } as const) : ({ kind: 'approval', id: next.approval.id } as const);
  return andThen(announceOutcome(state, decided, approval.id), (told) => withEffects(told, { type: 'focus', target }));
}

export function refuseDecision(
  state: ConsoleState,
  { approvalId, why, message, approval }: Extract<Action, { type: 'decide_failed' }>,
): Reduced {
  const answer: AnswerState = why === 'error' ? { kind: 'failed', message } : { kind: why };
  return withEffects(
    change(state, approvalId, (card) => ({ approval: approval ?? card.approval, answer })),
    { type: 'announce', text: message, urgency: 'alert' },
  );
}

/** Only what is not to be decided any more can be put away. */
export function dismissApproval(state: ConsoleState, approvalId: string, atMs: number): Reduced {
  return stay(
    change(state, approvalId, (card) =>
      needsPerson(card) && !hasExpired(card.approval, atMs) ? card : { ...card, answer: { kind: 'dismissed' } },
    ),
  );
}

export function needsPerson({ approval, answer }: ApprovalCard): boolean {
  return isUndecided(approval) && answer.kind !== 'closed' && answer.kind !== 'conflict' && answer.kind !== 'dismissed';
}

function change(state: ConsoleState, id: string, to: (card: ApprovalCard) => ApprovalCard): ConsoleState {
  return { ...state, approvals: state.approvals.map((card) => (card.approval.id === id ? to(card) : card)) };
}

export interface RuleOffer {
  /** The rule in one sentence, exactly. */
  readonly text: string;
  readonly remember: NonNullable<Decision['remember']>;
}

/** What "Always allow" may make, narrowest first (C-050). */
export function ruleOffers({ name }: Pick<Approval, 'name'>): readonly RuleOffer[] {
  return [
    {
      text: `Always allow ${name} with exactly these arguments in this session`,
      remember: { scope: 'session', match: 'exact-args' },
    },
    { text: `Always allow ${name} with any arguments in this session`, remember: { scope: 'session', match: 'tool' } },
  ];
}
