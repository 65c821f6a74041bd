// What a worker does for workflows: stretches of runs, with heartbeats while they last. A provider's failure, a tool's, a refusal:
// all of that is in the log and no failure here (E-874).
//
// B1. Heartbeats are a timer's: a slow model is no dead worker (E-877).
// B2. A workflow that is cancelled stops its run; a worker that shuts down, or whose stretch was given to another, leaves it.
// B3. What is thrown is thrown again elsewhere, for ever, unless trying again cannot help (E-876). Names of Temporal's own
//     errors never reach a run (E-883).
// B4. How long a stretch has been refused for want of its agent goes from one try to the next with the heartbeats, whoever
//     makes them; work on it begins that anew (E-833).
// B5. A run that the store never had is for a worker of another database on the same queue, and given on like any stretch that
//     is left. Where nobody knows it, try after try, it counts as over.

import { ApplicationFailure } from '@temporalio/common';
import { Context } from '@temporalio/activity';
import {
  advanceRun,
  AgentAwaitedError,
  loadRun,
  over,
  StretchLeftError,
  UnknownRunError,
  unreadable,
  workflowFailed,
  type Stage,
  type StretchOf,
  type WorkerServices,
} from './advance-run.ts';
import { DamageError, isOutage } from '../../core/errors.ts';
import type { Activities, Closing, RunInput, Standing, Stretch } from './contract.ts';
import type { RunId } from '../../core/ids.ts';
import type { RunWatch } from '../watch-runs.ts';
import type { Services } from '../../tasks/services.ts';

const heartbeatEveryMs = 5_000;
/** By then somebody else of the queue was most likely asked. */
const triesOfUnknown = 10;
const warnEveryMs = 60_000;

/** Lasting, as it may be another release that reads it. */
interface Heartbeat {
  readonly v: 1;
  readonly lastSeq: number | null;
  readonly lastAtMs: number | null;
  /** Since when nobody who was asked has the agent. */
  readonly agentlessSinceMs?: number;
}

type Worker = WorkerServices & { readonly warnOfUnknown: (runId: RunId) => void };

/** @param watch  Told when a leg goes on here, and when it is left. */
export function createActivities(services: Services, watch: RunWatch): Activities {
  const worker = { ...services, watch, warnOfUnknown: createUnknownWarning(services) };
  const stretch =
    (stage: Stage) =>
    ({ runId, generation }: Stretch) =>
      work(worker, { runId, generation, stage });
  return {
    'reins.load.v1': (input: RunInput) =>
      told(worker, input.runId, () =>
        unlessDamaged(worker, { runId: input.runId, generation: 0, stage: 'close' }, () => loadRun(services, input)),
      ),
    'reins.callModel.v1': stretch('call-model'),
    'reins.runTool.v1': stretch('run-tools'),
    'reins.append.v1': stretch('append'),
    'reins.close.v1': (closing) => close(worker, closing),
  };
}

async function close(services: Worker, { runId, generation, why }: Closing): Promise<Standing> {
  const plan = { runId, generation, stage: 'close' } as const;
  switch (why) {
    case 'due':
      return work(services, plan);
    case 'failed':
      return work(services, { ...plan, ending: workflowFailed });
    case 'cancelled': {
      await told(services, runId, () => services.store.requestCancel(runId));
      return work(services, plan);
    }
  }
}

async function work(services: Worker, plan: StretchOf): Promise<Standing> {
  const { clock, ownership, logger } = services;
  const { runId } = plan;
  const { agentWaitMs } = ownership.policy;
  const sinceMs = agentlessSinceMs(Context.current().info.heartbeatDetails);
  using heartbeats = startHeartbeats(services, { runId, agentlessSinceMs: sinceMs });
  const isAgentGone = sinceMs !== null && clock.now() - sinceMs >= agentWaitMs;
  const stretch = { ...plan, isAgentGone, stopBy: heartbeats.stopBy };
  const advance = async () => {
    try {
      return await unlessDamaged(services, stretch, () => advanceRun(services, stretch));
    } catch (cause) {
      if (!(cause instanceof AgentAwaitedError)) throw cause;
      if (sinceMs === null) logger.warn('A run waits for a worker that has its agent.', { runId, agentWaitMs });
      heartbeats.refuse();
      throw cause;
    }
  };
  // Awaited: its heart beats as long as it lasts.
  return await told(services, runId, advance);
}

/** @param details  Of the last heartbeat of the try before, of any release. */
function agentlessSinceMs(details: unknown): number | null {
  if (typeof details !== 'object' || details === null || !('agentlessSinceMs' in details)) return null;
  return typeof details.agentlessSinceMs === 'number' ? details.agentlessSinceMs : null;
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

interface Heartbeats extends Disposable {
  /** How the stretch shall be stopped by now; null: it goes on. */
  readonly stopBy: () => 'cancel' | 'shutdown' | null;
  /** Nothing was begun for want of the agent (B4). */
  readonly refuse: () => void;
}

/** Tells that the stretch is alive, and is told what became of its workflow (B1, B2). */
function startHeartbeats(
  { clock, runs, log }: Services,
  { runId, agentlessSinceMs: sinceMs }: { readonly runId: RunId; readonly agentlessSinceMs: number | null },
): Heartbeats {
  const context = Context.current();
  const { cancellationSignal } = context;
  let lastSeq: number | null = null;
  let lastAtMs: number | null = null;
  const unsubscribe = log.onPublish((published, events) => {
    if (published !== runId) return;
    lastSeq = events.at(-1)?.seq ?? lastSeq;
    lastAtMs = clock.now();
  });
  const tell = (agentless: number | null) => {
    const said: Heartbeat = { v: 1, lastSeq, lastAtMs };
    context.heartbeat(agentless === null ? said : { ...said, agentlessSinceMs: agentless });
  };
  let cancelTimer = () => {};
  const tick = (agentless: number | null) => {
    tell(agentless);
    cancelTimer = clock.timer(heartbeatEveryMs, () => tick(null));
  };
  // The first one may be the last of a try that is refused.
  if (context.info.heartbeatTimeoutMs !== undefined) tick(sinceMs);
  const stopBy = () => {
    if (!cancellationSignal.aborted) return null;
    return context.cancellationDetails?.cancelRequested === true ? 'cancel' : 'shutdown';
  };
  const stop = () => runs.stop(runId, stopBy() ?? 'shutdown');
  cancellationSignal.addEventListener('abort', stop);
  return {
    stopBy,
    refuse: () => tell(sinceMs ?? clock.now()),
    [Symbol.dispose]() {
      unsubscribe();
      cancelTimer();
      cancellationSignal.removeEventListener('abort', stop);
    },
  };
}

/** Faults as Temporal takes them (B3); what it is not given is in the log of this process. */
async function told<T>({ logger, warnOfUnknown }: Worker, runId: RunId, ask: () => Promise<T>): Promise<T | Standing> {
  try {
    return await ask();
  } catch (cause) {
    const mayHelp = cause instanceof StretchLeftError || isOutage(cause);
    const { workflowExecution, activityType: activity, attempt } = Context.current().info;
    if (cause instanceof UnknownRunError) {
      warnOfUnknown(runId);
      if (attempt >= triesOfUnknown) return over;
    }
    const of = { workflowId: workflowExecution?.workflowId ?? null, activity, attempt };
    if (!(cause instanceof StretchLeftError)) logger.error('A stretch of a run met a fault.', of, cause);
    const { name: type, message } = cause instanceof Error ? cause : new Error(String(cause));
    throw ApplicationFailure.create({ type, message, nonRetryable: !mayHelp });
  }
}

/** Says it seldom, as each task of the other database may come by here (B5). */
function createUnknownWarning({ clock, logger }: Services): (runId: RunId) => void {
  let notBeforeMs = 0;
  return (runId) => {
    const nowMs = clock.now();
    if (nowMs < notBeforeMs) return;
    notBeforeMs = nowMs + warnEveryMs;
    logger.warn(
      'This database knows no such task; do all servers and workers of this queue have one REINS_DATABASE_URL? Else give them queues of their own (temporal.taskQueue).',
      { runId },
    );
  };
}
