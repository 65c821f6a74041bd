// What a person says of a pending call: a decision, answers, or a word on an unknown outcome.
//
// D1. Stored before it is answered, in the log of the run that asked, with the rule it makes in one transaction; the store
//     lets one win, whoever races (E-601, E-602).
// D2. The same again is a success; something else is a conflict; what nobody can decide any more is closed (E-602).
// D3. It holds for the arguments that were asked about, and no others (E-603).

import { answersText, checkAnswers, type Answer } from '../core/questions.ts';
import { approvalOf } from './read-approvals.ts';
import { ApprovalClosedError, ApprovalConflictError, InvalidInputError, RuntimeStateError } from '../core/errors.ts';
import { canonicalJson } from '../core/json.ts';
import { factPosition } from './fact-position.ts';
import { findApproval } from './find-in-scope.ts';
import { ruleIds } from '../core/ids.ts';
import { wakeRun } from './wake-run.ts';
import type { Approval } from '../views/uhp-approvals.ts';
import type { ApprovalDecided, PendingTool } from '../core/run-event.ts';
import type { ApprovalRecord, AppendFactsResult, RuleRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

export interface Remember {
  readonly scope: RuleRecord['scope'];
  readonly match: RuleRecord['match'];
}

export type Verdict =
  | {
      readonly verb: 'decide';
      readonly decision: 'approve' | 'deny';
      /** Of the arguments that the caller saw; null = not said. */
      readonly argsDigest: string | null;
      /** On a denial, the model reads it (E-604). */
      readonly note: string | null;
      readonly remember: Remember | null;
    }
  | { readonly verb: 'answer'; readonly answers: readonly Answer[] | 'declined' }
  | {
      readonly verb: 'resolve';
      readonly action: 'retry' | 'abort' | { readonly output: string; readonly isError: boolean };
    };

const kindOf: Readonly<Record<Verdict['verb'], PendingTool['kind']>> = {
  decide: 'approval',
  answer: 'question',
  resolve: 'recovery',
};

/**
 * Gives the stored record.
 * @throws RequestError  404; 400 where the verb or the answers do not fit; `ApprovalConflictError`, `ApprovalClosedError`.
 */
export async function decideApproval(
  services: Services,
  principal: string,
  { approvalId, verdict }: { readonly approvalId: string; readonly verdict: Verdict },
): Promise<Approval> {
  const approval = await findApproval(services, principal, approvalId);
  const said = saidOf(approval.pending, verdict);
  if (verdict.verb === 'decide' && verdict.argsDigest !== null && verdict.argsDigest !== approval.pending.argsDigest)
    throw new ApprovalClosedError(await approvalOf(services, approval), 'digest');
  if (approval.decided !== null) return judgeRepeat(services, approval, said);
  const rule = verdict.verb === 'decide' ? await ruleOf(services, approval, verdict) : null;
  const by = { by: principal, ...(rule === null ? {} : { ruleId: rule.ruleId }) };
  const stored = await storeDecision(services, approval, { said: { ...said, ...by }, rule });
  if (stored.outcome === 'decided') return judgeRepeat(services, stored.approval, said);
  const now = await findApproval(services, principal, approvalId);
  if (stored.outcome !== 'stored') throw new ApprovalClosedError(await approvalOf(services, now), 'closed');
  await wakeRun(services, approval.runId);
  return approvalOf(services, now);
}

type Said = Pick<ApprovalDecided, 'decision' | 'note' | 'output'>;

/** @throws InvalidInputError  The verb is not for this kind (UR-30), or an answer fits no question. */
function saidOf({ kind, questions = [] }: PendingTool, verdict: Verdict): Said {
  if (kind !== kindOf[verdict.verb])
    throw new InvalidInputError(`This is of the kind ${kind}: ${verbFor(kind)} it instead.`);
  switch (verdict.verb) {
    case 'decide':
      return { decision: verdict.decision, ...(verdict.note === null ? {} : { note: verdict.note }) };
    case 'answer': {
      const { answers } = verdict;
      if (answers !== 'declined') refuseWrong(questions, answers);
      const output = { content: answersText(questions, answers), isError: false };
      return { decision: answers === 'declined' ? 'decline' : 'answer', output };
    }
    case 'resolve': {
      const { action } = verdict;
      if (typeof action === 'string') return { decision: action };
      return { decision: 'result', output: { content: action.output, isError: action.isError } };
    }
  }
}

function verbFor(kind: PendingTool['kind']): Verdict['verb'] {
  switch (kind) {
    case 'approval':
      return 'decide';
    case 'question':
      return 'answer';
    case 'recovery':
      return 'resolve';
  }
}

function refuseWrong(questions: NonNullable<PendingTool['questions']>, answers: readonly Answer[]): void {
  const checked = checkAnswers(questions, answers);
  if (checked.ok) return;
  const index = answers.findLastIndex(({ id }) => id === checked.id);
  throw new InvalidInputError(checked.why, `answers[${index}]`);
}

/** It is of the agent that asks, which may be a sub-agent, and made in the run that was asked. */
async function ruleOf(
  { random, clock, store }: Services,
  { principal, harnessId, sessionId, runId, pending }: ApprovalRecord,
  { decision, remember }: Extract<Verdict, { verb: 'decide' }>,
): Promise<RuleRecord | null> {
  if (remember === null) return null;
  const asking = await store.run(pending.runId);
  return {
    ruleId: ruleIds.make(random.token()),
    principal,
    harnessId: asking?.harnessId ?? harnessId,
    sessionId,
    runId,
    ...remember,
    toolName: pending.call.name,
    argsDigest: pending.argsDigest,
    ...(pending.toolIdentity === undefined ? {} : { toolIdentity: pending.toolIdentity }),
    effect: decision === 'approve' ? 'allow' : 'deny',
    by: principal,
    createdAtMs: clock.now(),
  };
}

/** Stores what was said of an open entry, where the log of its run ends. */
export async function storeDecision(
  services: Services,
  { runId, pending }: ApprovalRecord,
  {
    said,
    rule = null,
  }: { readonly said: Said & Pick<ApprovalDecided, 'by' | 'ruleId'>; readonly rule?: RuleRecord | null },
): Promise<AppendFactsResult> {
  const run = await services.store.run(runId);
  if (run === null) return { outcome: 'ended' };
  const { approvalId, executionKey, kind } = pending;
  const data = { approvalId, executionKey, kind, ...said };
  const event = { ...(await factPosition(services, run)), type: 'approval-decided', data } as const;
  return services.log.appendFact(rule === null ? { event } : { event, rule });
}

async function judgeRepeat(services: Services, approval: ApprovalRecord, said: Said): Promise<Approval> {
  const { decided } = approval;
  if (decided === null) throw new RuntimeStateError('An approval that is decided has no decision.');
  const shown = await approvalOf(services, approval);
  if (decided.decision === 'expired' || decided.decision === 'cancelled')
    throw new ApprovalClosedError(shown, 'closed');
  const same = decided.decision === said.decision && fingerprint(decided) === fingerprint(said);
  if (!same) throw new ApprovalConflictError(shown);
  return shown;
}

function fingerprint({ output }: Said): string {
  return output === undefined ? '' : canonicalJson(output);
}
