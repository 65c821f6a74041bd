// Sub-agents of durable runs: runs of their own, in the same store, found again by their ids after a crash (E-905).

import { acceptTask, type TaskBody } from '../tasks/accept-task.ts';
import { baseOf } from './agent-adapter.ts';
import { cancelTask } from '../tasks/cancel-task.ts';
import { ensureHarness } from '../tasks/ensure-harness.ts';
import { finalStatus } from '../tasks/run-recorder.ts';
import { libraryPrincipal } from './durable-runs.ts';
import { RunResult } from '../core/run-result.ts';
import { RuntimeStateError } from '../core/errors.ts';
import { sessionIds, type RunId } from '../core/ids.ts';
import { storeDecision } from '../tasks/decide-approval.ts';
import { takeOver } from '../tasks/recover-runs.ts';
import type { ChildRun, RunChild } from './sub-agents.ts';
import type { Services } from '../tasks/services.ts';

/** @param services  Asked for late: adapters are made before what they work with. */
export function createRunChild(services: () => Services): RunChild {
  return async (child) => {
    const { runId, context } = child;
    const known = await services().store.run(runId);
    if (known === null) await admitChild(services(), child);
    else if (known.phase === 'waiting') await goOn(services(), child);
    const stop = () => void cancelTask(services(), libraryPrincipal, runId).catch(() => {}); // It may be over by itself.
    context.signal.addEventListener('abort', stop);
    if (context.signal.aborted) stop();
    try {
      return await legResult(services(), runId);
    } finally {
      context.signal.removeEventListener('abort', stop);
    }
  };
}

async function admitChild(services: Services, { child, runId, task, parent, permissions }: ChildRun): Promise<void> {
  const body: TaskBody = {
    messages: [{ content: [{ type: 'text', text: task }] }],
    instructions: null,
    inputItems: [],
    model: null,
    harnessId: await ensureHarness(services, libraryPrincipal, baseOf(child.agent)),
    previousResponseId: null,
    store: true,
    background: true,
    maxOutputTokens: null,
    maxStep: null,
    timeoutSeconds: null,
    metadata: {},
    reinsEvents: false,
    ignoredFields: [],
  };
  const ids = { runId, sessionId: sessionIds.make(runId.slice(5)) };
  await acceptTask(services, {
    principal: libraryPrincipal,
    body,
    idempotency: null,
    ids,
    child: { parent, permissions },
  });
}

/** Passes on what was said in the parent, and starts the next leg (E-612). */
async function goOn(services: Services, { runId, decisions }: ChildRun): Promise<void> {
  const filter = { principal: libraryPrincipal, runId, status: 'open', limit: 1000 } as const;
  for (const record of await services.store.approvals(filter)) {
    const said = decisions.find(({ executionKey }) => executionKey === record.pending.executionKey);
    if (said === undefined) continue;
    const { decision, by, note, output } = said.decided;
    await storeDecision(services, record, {
      said: { decision, by, ...(note === undefined ? {} : { note }), ...(output === undefined ? {} : { output }) },
    });
  }
  await services.runs.ended(runId);
  await takeOver(services, { runId, owner: null, phase: 'waiting' });
}

async function legResult({ log, store }: Services, runId: RunId): Promise<RunResult> {
  const from = (await store.run(runId))?.lastSeq ?? 0;
  for await (const batch of log.follow(runId, { after: Math.max(0, from - 1) }))
    for (const event of batch) {
      if (event.type !== 'run-result') continue;
      // The result of a leg before this one: the next leg has begun, or is about to.
      if (finalStatus(event.data.status) === null && (await store.run(runId))?.phase === 'active') continue;
      return new RunResult(event.data);
    }
  throw new RuntimeStateError('The run of a sub-agent has no result.');
}
