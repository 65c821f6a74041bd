// Sub-agents of durable runs: runs of their own, in the same store, found again by their ids after a crash (E-905).
//
// D1. A call that is dispatched again goes on with the child that it finds, however far that has come (E-612).
// D2. A child is stopped with the call that began it; a process that is shut down leaves both to the next one. It is paused
//     with the run that it works for, and goes on when the call is dispatched again (E-819).

import { admitChild, libraryPrincipal } from './durable-admission.ts';
import { pauseRun } from '../tasks/pause-run.ts';
import { resultOf } from './durable-events.ts';
import { resumeRun } from '../tasks/resume-run.ts';
import { RunResult } from '../core/run-result.ts';
import { RuntimeStateError } from '../core/errors.ts';
import { sessionIds, type RunId } from '../core/ids.ts';
import { stopOf } from '../core/stop-turn.ts';
import { stopRun } from '../tasks/cancel-task.ts';
import { storeDecision } from '../tasks/decide-approval.ts';
import { wakeRun } from '../tasks/wake-run.ts';
import type { AgentAdapterOptions } from './agent-adapter.ts';
import type { ChildRun } from './sub-agents.ts';
import type { Services } from '../tasks/services.ts';

/** @param services  Asked for late: adapters are made before what they work with. */
export function createRunChild(services: () => Services): AgentAdapterOptions['runChild'] {
  return async (child, { base, pause }) => {
    const { runId, context } = child;
    const known = await services().store.run(runId);
    if (known === null) await begin(services(), child, base);
    else if (known.phase === 'waiting') await passOn(services(), child);
    else if (known.phase === 'paused') await goOn(services(), runId);
    const left = new AbortController();
    // What cannot be told to the child ends the wait for it.
    const tell = (work: () => Promise<unknown>) =>
      services().runs.cleanUp(runId, () =>
        work().catch((cause: unknown) => {
          left.abort(cause);
          throw cause;
        }),
      );
    const stop = () => {
      if (stopOf(context.signal) === 'shutdown') left.abort(context.signal.reason);
      else tell(() => stopRun(services(), runId));
    };
    const park = () => tell(() => pauseRun(services(), libraryPrincipal, runId));
    pause.addEventListener('abort', park);
    if (pause.aborted) park();
    context.signal.addEventListener('abort', stop);
    if (context.signal.aborted) stop();
    try {
      return new RunResult((await resultOf(services(), runId, { signal: left.signal })).data);
    } finally {
      context.signal.removeEventListener('abort', stop);
      pause.removeEventListener('abort', park);
    }
  };
}

/** @throws RuntimeStateError  It cannot go on here: what it waits for would be asked for again at once. */
async function goOn(services: Services, runId: RunId): Promise<void> {
  if (await resumeRun(services, libraryPrincipal, runId)) return;
  const run = await services.store.run(runId);
  if (run?.phase === 'paused') throw new RuntimeStateError('The run of a sub-agent is paused and cannot go on here.');
}

async function begin(services: Services, { runId, task, parent, permissions }: ChildRun, base: string): Promise<void> {
  const sessionId = sessionIds.make(runId.slice(5));
  try {
    await admitChild(services, { runId, sessionId, task, base, parent, permissions });
  } catch (cause) {
    // An owner before this one, that hung, may have begun it in this moment.
    if ((await services.store.run(runId)) === null) throw cause;
  }
}

/** What was said in the parent; the child goes on once nothing of it is open any more. */
async function passOn(services: Services, { runId, decisions }: ChildRun): Promise<void> {
  const filter = { principal: libraryPrincipal, runId, status: 'open', limit: 1000 } as const;
  for (const record of await services.store.approvals(filter)) {
    const said = decisions.find(({ executionKey }) => executionKey === record.pending.executionKey);
    if (said === undefined) continue;
    const { decision, by, note, output } = said.decided;
    await storeDecision(services, record, {
      said: { decision, by, ...(note === undefined ? {} : { note }), ...(output === undefined ? {} : { output }) },
    });
  }
  if ((await services.store.approvals({ ...filter, limit: 1 })).length > 0) return;
  // A pause that came with its park was its parent's, which goes on now.
  if (!(await resumeRun(services, libraryPrincipal, runId))) await wakeRun(services, runId);
}
