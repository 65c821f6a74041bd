// What a worker does for workflows: stretches of runs, with a beat while they last. A provider's failure, a tool's, a refusal:
// all of that is in the log and no failure here (E-874).
//
// B1. The beat is a timer's: a slow model is no dead worker (E-877).
// B2. A workflow that is cancelled stops its run; a worker that shuts down, or whose stretch was given to another, leaves it.
// B3. What is thrown is thrown again elsewhere, for ever, unless trying again cannot help (E-876). Names of Temporal's own
//     errors never reach a run (E-883).

import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import {
  advanceRun,
  loadRun,
  StretchLeftError,
  unreadable,
  workflowFailed,
  type Stage,
  type StretchOf,
  type WorkerServices,
} from './advance-run.ts';
import { DamageError, StorageError } from '../../core/errors.ts';
import type { Activities, Closing, RunInput, Standing, Stretch } from './contract.ts';
import type { RunId } from '../../core/ids.ts';
import type { RunWatch } from '../watch-runs.ts';
import type { Services } from '../../tasks/services.ts';

const beatEveryMs = 5_000;
/** @param watch  Told when a leg goes on here, and when it is left. */
export function createActivities(services: Services, watch: RunWatch): Activities {
  const worker = { ...services, watch };
  const stretch =
    (stage: Stage) =>
    ({ runId, generation }: Stretch) =>
      work(worker, { runId, generation, stage });
  return {
    'reins.load.v1': ({ runId }: RunInput) =>
      told(services, () =>
        unlessDamaged(worker, { runId, generation: 0, stage: 'close' }, () => loadRun(services, runId)),
      ),
    'reins.callModel.v1': stretch('call-model'),
    'reins.runTool.v1': stretch('run-tools'),
    'reins.append.v1': stretch('append'),
    'reins.close.v1': (closing) => close(worker, closing),
  };
}

async function close(services: WorkerServices, { runId, generation, why }: Closing): Promise<Standing> {
  const plan = { runId, generation, stage: 'close' } as const;
  switch (why) {
    case 'due':
      return work(services, plan);
    case 'failed':
      return work(services, { ...plan, ending: workflowFailed });
    case 'cancelled': {
      const run = await told(services, () => services.store.requestCancel(runId));
      return work(services, { ...plan, generation: run?.generation ?? generation });
    }
  }
}

async function work(services: WorkerServices, plan: StretchOf): Promise<Standing> {
  const { info } = Context.current();
  const { agentWaitMs } = services.ownership.policy;
  const isAgentGone = services.clock.now() - info.scheduledTimestampMs >= agentWaitMs;
  using _beat = beat(services, plan.runId);
  // Awaited: it beats as long as it lasts.
  return await told(services, () =>
    unlessDamaged(services, plan, () => advanceRun(services, { ...plan, isAgentGone })),
  );
}

/** A run whose log cannot be read any more is ended by that. */
async function unlessDamaged(
  services: WorkerServices,
  plan: StretchOf,
  ask: () => Promise<Standing>,
): Promise<Standing> {
  try {
    return await ask();
  } catch (cause) {
    if (!(cause instanceof DamageError)) throw cause;
    services.logger.error('The log of a run is damaged: the run is ended.', { runId: plan.runId }, cause);
    return advanceRun(services, { ...plan, ending: unreadable });
  }
}

/** Tells that the stretch is alive, and is told what became of its workflow (B1, B2). */
function beat({ clock, runs, log }: Services, runId: RunId): Disposable {
  const context = Context.current();
  let lastSeq: number | null = null;
  let lastAtMs: number | null = null;
  const deafen = log.onPublish((published, events) => {
    if (published !== runId) return;
    lastSeq = events.at(-1)?.seq ?? lastSeq;
    lastAtMs = clock.now();
  });
  let cancelTimer = () => {};
  const tick = () => {
    context.heartbeat({ v: 1, lastSeq, lastAtMs });
    cancelTimer = clock.timer(beatEveryMs, tick);
  };
  if (context.info.heartbeatTimeoutMs !== undefined) tick();
  const stop = () => runs.stop(runId, context.cancellationDetails?.cancelRequested === true ? 'cancel' : 'shutdown');
  context.cancellationSignal.addEventListener('abort', stop);
  return {
    [Symbol.dispose]() {
      deafen();
      cancelTimer();
      context.cancellationSignal.removeEventListener('abort', stop);
    },
  };
}

/** Faults as Temporal takes them (B3); what it is not given is in the log of this process. */
async function told<T>({ logger }: Services, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    const mayHelp =
      cause instanceof StretchLeftError || (cause instanceof StorageError && !(cause instanceof DamageError));
    const { workflowExecution, activityType: activity, attempt } = Context.current().info;
    const of = { workflowId: workflowExecution?.workflowId ?? null, activity, attempt };
    if (!(cause instanceof StretchLeftError)) logger.error('A stretch of a run met a fault.', of, cause);
    const { name: type, message } = cause instanceof Error ? cause : new Error(String(cause));
    throw ApplicationFailure.create({ type, message, nonRetryable: !mayHelp });
  }
}
