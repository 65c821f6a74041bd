import { decideApproval, type Verdict } from '../tasks/decide-approval.ts';
import { DurableRuns, libraryPrincipal, sessionIdOf, statusOf } from './durable-runs.ts';
import { findApproval } from '../tasks/find-in-scope.ts';
import { queueTask, readQueue, resumeQueue, unqueueTask } from '../tasks/queue-task.ts';
import { revokeRule } from '../tasks/revoke-rule.ts';
import { RuntimeStateError, UnknownExecutionKey } from '../core/errors.ts';
import { steerTask } from '../tasks/steer-task.ts';
import type { ApprovalId } from '../core/ids.ts';
import type { ApprovalRecord } from '../stores/store.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { CloseOptions, PendingFilter, Runtime } from './runtime.ts';
import type { Services } from '../tasks/services.ts';

const defaultLimit = 100;

/** The verbs of a runtime over what its processes share. `close` is the composer's. */
export function createDurableRuntime(
  services: Services,
  agents: readonly AssembledAgent[],
  { close }: Pick<Runtime, 'close'>,
): Runtime {
  const { store } = services;
  const runs = new DurableRuns(services, agents);
  const principal = libraryPrincipal;
  let closing: Promise<void> | null = null;
  const open = () => {
    if (closing !== null) throw new RuntimeStateError('This runtime is closed.');
  };
  const closeOnce = async (options?: CloseOptions) => {
    closing ??= close(options);
    await closing;
  };

  async function decide(approvalId: ApprovalId, verdict: Verdict): Promise<ApprovalRecord> {
    await decideApproval(services, principal, { approvalId, verdict });
    return findApproval(services, principal, approvalId);
  }

  const list = ({ runId, sessionId, kind, status = 'open', limit = defaultLimit }: PendingFilter = {}) =>
    store.approvals({
      principal,
      status,
      limit: Math.min(limit, 1000),
      ...(runId === undefined ? {} : { runId }),
      ...(sessionId === undefined ? {} : { sessionId: sessionIdOf(sessionId) }),
      ...(kind === undefined ? {} : { kind }),
    });

  const runtime: Runtime = {
    run: async (input, options) => runtime.runStream(input, options).result(),
    runStream(input, options) {
      open();
      return runs.start(input, options);
    },
    streamText(input, options = {}) {
      open();
      return runs.start(input, options).text(options);
    },
    async submit(input, options) {
      open();
      return runs.submit(input, options);
    },
    handle: (runId) => runs.handle(runId),
    async events(runId, options = {}) {
      return (await runs.handle(runId)).stream(options);
    },
    resume: (runId) => runs.resume(runId),
    retry: (runId) => runs.retry(runId),
    pause: (runId) => runs.pause(runId),
    async cancel(runId) {
      await runs.cancel(runId);
      return statusOf(await runs.find(runId));
    },
    compact: (runId, request) => runs.compact(runId, request),
    async send(target, message, { mode }) {
      const runId = 'runId' in target ? target.runId : await runningRun(services, target.sessionId);
      const content = await runs.contentOf(message, runId);
      const messageId = message.messageId ?? null;
      if (mode === 'steer')
        return steerTask(services, principal, { responseId: runId, message: { content, messageId } });
      return queueTask(services, principal, await runs.followUp(runId, { content, messageId }));
    },
    queue: {
      list: (sessionId) => readQueue(services, principal, sessionIdOf(sessionId)),
      remove: (sessionId, messageId) =>
        unqueueTask(services, principal, { sessionId: sessionIdOf(sessionId), messageId }),
      async resume(sessionId) {
        await resumeQueue(services, principal, sessionIdOf(sessionId));
      },
    },
    approvals: {
      list,
      get: (id) => findApproval(services, principal, id),
      decide: (id, { decision, argsDigest = null, note = null, remember = null }) =>
        decide(id, { verb: 'decide', decision, argsDigest, note, remember }),
      answer: (id, answers) => decide(id, { verb: 'answer', answers }),
    },
    rules: {
      list: ({ sessionId } = {}) =>
        store.rules({ principal, ...(sessionId === undefined ? {} : { sessionId: sessionIdOf(sessionId) }) }),
      revoke: (id) => revokeRule(services, principal, id),
    },
    recovery: {
      list: (filter = {}) => list({ ...filter, kind: 'recovery' }),
      async resolve(executionKey, how) {
        const all = await list({ kind: 'recovery', status: 'all', limit: 1000 });
        const found = all.find(({ pending }) => pending.executionKey === executionKey);
        if (found === undefined) throw new UnknownExecutionKey(executionKey);
        const action =
          typeof how === 'string' ? how : { output: how.result.content, isError: how.result.isError ?? false };
        return decide(found.approvalId, { verb: 'resolve', action });
      },
    },
    runs: {
      get: (runId) => runs.find(runId),
      async list({ sessionId }) {
        const known = await store.runIdsOfSession(sessionIdOf(sessionId));
        return Promise.all(known.map(({ runId }) => runs.find(runId)));
      },
    },
    get closed() {
      return closing !== null;
    },
    close: closeOnce,
    [Symbol.asyncDispose]: () => closeOnce(),
  };
  return runtime;
}

async function runningRun({ store }: Services, name: string) {
  const session = await store.session(sessionIdOf(name));
  const runId = session?.runningRunId ?? (session === null ? null : await store.tip(session.sessionId));
  if (runId === null) throw new RuntimeStateError('There is no such session.');
  return runId;
}
