import { approvalIds, runIds, sessionIds } from '../core/ids.ts';
import { findApproval } from './find-in-scope.ts';
import { InvalidInputError } from '../core/errors.ts';
import { toApproval, type Approval } from '../views/uhp-approvals.ts';
import type { ApprovalFilter, ApprovalRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

/** What is asked for; names may be invented, and then fit nothing (UD-51). */
export interface ApprovalQuery extends Pick<ApprovalFilter, 'status' | 'kind' | 'limit'> {
  readonly session: string | null;
  readonly response: string | null;
  readonly cursor: string | null;
}

export interface ApprovalPage {
  readonly approvals: readonly Approval[];
  /** Null: these were the last. */
  readonly next: string | null;
}

export async function readApproval(services: Services, principal: string, approvalId: string): Promise<Approval> {
  return approvalOf(services, await findApproval(services, principal, approvalId));
}

/** Newest first. @throws InvalidInputError  The cursor is none of this list. */
export async function listApprovals(
  services: Services,
  principal: string,
  { status, kind, limit, ...names }: ApprovalQuery,
): Promise<ApprovalPage> {
  const sessionId = names.session === null ? null : sessionIds.parse(names.session);
  const runId = names.response === null ? null : runIds.parse(names.response);
  const after = names.cursor === null ? null : await findCursor(services, principal, names.cursor);
  if (sessionId === undefined || runId === undefined) return { approvals: [], next: null };
  const records = await services.store.approvals({
    principal,
    status,
    limit: limit + 1,
    ...(kind === undefined ? {} : { kind }),
    ...(sessionId === null ? {} : { sessionId }),
    ...(runId === null ? {} : { runId }),
    ...(after === null ? {} : { after: after.approvalId }),
  });
  const page = records.slice(0, limit);
  const approvals: Approval[] = [];
  for (const record of page) approvals.push(await approvalOf(services, record));
  return { approvals, next: records.length > limit ? (page.at(-1)?.approvalId ?? null) : null };
}

async function findCursor({ store }: Services, principal: string, cursor: string): Promise<ApprovalRecord> {
  const id = approvalIds.parse(cursor);
  const approval = id === undefined ? null : await store.approval(id);
  if (approval !== null && approval.principal === principal) return approval;
  throw new InvalidInputError('This cursor is none that this list gave.', 'cursor');
}

/** A stored approval as the stream of its task shows it. */
export async function approvalOf(services: Services, record: ApprovalRecord): Promise<Approval> {
  const { pending, decided, runId, sessionId, harnessId } = record;
  const ofSubAgent = (pending.agentPath ?? []).length > 0;
  const callId = ofSubAgent ? pending.call.id : await callIdOf(services, record);
  return toApproval(pending, { runId, sessionId, harnessId, callId }, decided);
}

/** A call id that came in an earlier step of the response has the step behind it (UD-81). */
async function callIdOf({ log }: Services, { runId, pending }: ApprovalRecord): Promise<string> {
  const { call, step } = pending;
  if (step === 1) return call.id;
  for await (const events of log.readAll(runId, { committedOnly: true }))
    for (const event of events) {
      if (event.step >= step) return call.id;
      if (event.type === 'turn-complete' && event.data.calls.some(({ id }) => id === call.id))
        return `${call.id}_${step}`;
    }
  return call.id;
}
