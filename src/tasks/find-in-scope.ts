// Objects by the names that a caller gives. Unknown, deleted and another principal's are one and the same answer (U-042), and
// the form of an id is never judged (U-044).

import { approvalIds, harnessIds, ruleIds, runIds, sessionIds } from '../core/ids.ts';
import { NotFoundError, SessionExpiredError, type RequestError } from '../core/errors.ts';
import type { ApprovalRecord, RuleRecord, RunRecord, SessionRecord } from '../stores/store.ts';
import type { HarnessRecord } from '../stores/harness-record.ts';
import type { Services } from './services.ts';

type Scope = Pick<Services, 'store'>;

/** @param param  The field that named it, if a field did. @throws NotFoundError */
export async function findHarness(
  { store }: Scope,
  principal: string,
  { name, param }: { readonly name: string; readonly param?: string },
): Promise<HarnessRecord> {
  const id = harnessIds.parse(name);
  const harness = id === undefined ? null : await store.harness(id);
  if (harness === null || harness.deleted || harness.principal !== principal) throw new NotFoundError('harness', param);
  return harness;
}

/** A run whose response can be read: not deleted, and not ended with `store: false` (UD-07). @throws NotFoundError */
export async function findRun(scope: Scope, principal: string, responseId: string): Promise<RunRecord> {
  const run = await findContinuable(scope, principal, { name: responseId });
  if (!run.store && run.status !== 'running') throw new NotFoundError('response');
  return run;
}

/** A run that a task may name as the one before it: its response need not be stored (UD-07). @throws NotFoundError */
export async function findContinuable(
  { store }: Scope,
  principal: string,
  { name, param }: { readonly name: string; readonly param?: string },
): Promise<RunRecord> {
  const id = runIds.parse(name);
  const run = id === undefined ? null : await store.run(id);
  if (run === null || run.deleted || run.principal !== principal) throw new NotFoundError('response', param);
  return run;
}

/** @throws NotFoundError */
export async function findSession({ store }: Scope, principal: string, sessionId: string): Promise<SessionRecord> {
  const id = sessionIds.parse(sessionId);
  const session = id === undefined ? null : await store.session(id);
  if (session === null || session.principal !== principal) throw new NotFoundError('session');
  return session;
}

/** @throws RequestError  As `findSession`, and where the session is past its retention (UD-61). */
export async function findLiveSession(scope: Scope, principal: string, sessionId: string): Promise<SessionRecord> {
  const session = await findSession(scope, principal, sessionId);
  if (session.expiredAtMs !== null) throw new SessionExpiredError();
  return session;
}

/** Why a session that was there is not any more: it has expired in this moment, or was deleted. */
export async function goneSession(scope: Scope, principal: string, sessionId: string): Promise<RequestError> {
  const session = await findSession(scope, principal, sessionId);
  return session.expiredAtMs === null ? new NotFoundError('session') : new SessionExpiredError();
}

/** What a sub-agent asks is said to the run it works for, which asks for it again (E-612). @throws NotFoundError */
export async function findApproval({ store }: Scope, principal: string, approvalId: string): Promise<ApprovalRecord> {
  const id = approvalIds.parse(approvalId);
  const approval = id === undefined ? null : await store.approval(id);
  if (approval === null || approval.principal !== principal) throw new NotFoundError('approval');
  if ((await store.run(approval.runId))?.parentRunId !== null) throw new NotFoundError('approval');
  return approval;
}

/** @throws NotFoundError */
export async function findRule({ store }: Scope, principal: string, ruleId: string): Promise<RuleRecord> {
  const id = ruleIds.parse(ruleId);
  const rule = id === undefined ? null : await store.rule(id);
  if (rule === null || rule.principal !== principal) throw new NotFoundError('rule');
  return rule;
}
