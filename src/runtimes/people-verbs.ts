import { decideApproval, type Verdict } from '../tasks/decide-approval.ts';
import { findApproval } from '../tasks/find-in-scope.ts';
import { libraryPrincipal as principal } from './durable-admission.ts';
import { readQueue, resumeQueue, unqueueTask } from '../tasks/queue-task.ts';
import { revokeRule } from '../tasks/revoke-rule.ts';
import { runIds } from '../core/ids.ts';
import { sessionIdOf } from './session-id.ts';
import { UnknownExecutionKey } from '../core/errors.ts';
import type { ApprovalRecord } from '../stores/store.ts';
import type { PendingFilter, Runtime } from './runtime.ts';
import type { Services } from '../tasks/services.ts';

/** Makes a verb of what it does: it rejects once its runtime is closed. */
export type AsVerb = <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>) => (...args: A) => Promise<R>;

/** What people say, and what waits. */
export function createPeopleVerbs(
  services: Services,
  verb: AsVerb,
): Pick<Runtime, 'queue' | 'approvals' | 'rules' | 'recovery'> {
  return {
    queue: {
      list: verb((sessionId) => readQueue(services, principal, sessionIdOf(sessionId))),
      remove: verb((sessionId, messageId) =>
        unqueueTask(services, principal, { sessionId: sessionIdOf(sessionId), messageId }),
      ),
      resume: verb(async (sessionId) => void (await resumeQueue(services, principal, sessionIdOf(sessionId)))),
    },
    approvals: {
      list: verb((filter = {}) => listPending(services, filter)),
      get: verb((id) => findApproval(services, principal, id)),
      decide: verb((id, { decision, argsDigest = null, note = null, remember = null }) =>
        decide(services, id, { verb: 'decide', decision, argsDigest, note, remember }),
      ),
      answer: verb((id, answers) => decide(services, id, { verb: 'answer', answers })),
    },
    rules: {
      list: verb(({ sessionId } = {}) =>
        services.store.rules({ principal, ...(sessionId === undefined ? {} : { sessionId: sessionIdOf(sessionId) }) }),
      ),
      revoke: verb((id) => revokeRule(services, principal, id)),
    },
    recovery: {
      list: verb((filter = {}) => listPending(services, { ...filter, kind: 'recovery' })),
      resolve: verb(async (executionKey, how) => {
        const { approvalId } = await findUnknownOutcome(services, executionKey);
        const action =
          typeof how === 'string' ? how : { output: how.result.content, isError: how.result.isError ?? false };
        return decide(services, approvalId, { verb: 'resolve', action });
      }),
    },
  };
}

async function decide(services: Services, approvalId: string, verdict: Verdict): Promise<ApprovalRecord> {
  await decideApproval(services, principal, { approvalId, verdict });
  return findApproval(services, principal, approvalId);
}

const defaultLimit = 100;
const mostEntries = 1_000;

/** What a sub-agent asks is listed once, as the request of the run that it works for (E-612). */
async function listPending(services: Services, filter: PendingFilter): Promise<readonly ApprovalRecord[]> {
  const { runId, sessionId, kind, status = 'open', limit = defaultLimit } = filter;
  const run = runId === undefined ? undefined : runIds.parse(runId);
  const isListed = runId === undefined || (run !== undefined && (await services.store.run(run))?.parentRunId === null);
  if (!isListed) return [];
  return services.store.approvals({
    principal,
    status,
    limit: Math.min(limit, mostEntries),
    ...(run === undefined ? {} : { runId: run }),
    ...(sessionId === undefined ? {} : { sessionId: sessionIdOf(sessionId) }),
    ...(kind === undefined ? {} : { kind }),
  });
}

/** The newest word that was asked for on that call, which may be one of a sub-agent. @throws UnknownExecutionKey */
async function findUnknownOutcome(services: Services, executionKey: string): Promise<ApprovalRecord> {
  const { store } = services;
  const named = runIds.parse(executionKey.split(':', 1)[0] ?? '');
  let run = named === undefined ? null : await store.run(named);
  while (run !== null && run.parentRunId !== null) run = await store.run(run.parentRunId);
  const filter = { kind: 'recovery', status: 'all', limit: mostEntries } as const;
  const asked = run === null ? [] : await listPending(services, { ...filter, runId: run.runId });
  const found = asked.find(({ pending }) => pending.executionKey === executionKey);
  if (found === undefined) throw new UnknownExecutionKey(executionKey);
  return found;
}
