// The side of a process that has its runs scheduled by Temporal: it starts and wakes their workflows.
//
// S1. A run is admitted whether Temporal is there or not: what it could not be told it is told by the scan (E-870).
// S2. Of a run that nobody works on it is told seldom, and ever more seldom: the run may wait for a worker, or for a retry.
// S3. A workflow that ended before its run is not begun again: the run ends as its workflow did (E-884).

import {
  Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  type Connection,
  type WorkflowExecutionStatusName,
} from '@temporalio/client';
import { configOf } from '../../tasks/config-of.ts';
import { takeHere } from '../../tasks/take-here.ts';
import { wakeSignal, workflowIdOf, workflowType } from './contract.ts';
import { workflowFailed } from './advance-run.ts';
import type { Ending } from '../../core/closing.ts';
import type { RunId } from '../../core/ids.ts';
import type { RunScheduler } from '../../tasks/run-scheduler.ts';
import type { Services } from '../../tasks/services.ts';
import type { UnfinishedRun } from '../../stores/store.ts';

export interface TemporalPlace {
  readonly namespace: string;
  readonly taskQueue: string;
}

/** Whoever does not answer by then is told again by the scan. */
const answersWithinMs = 10_000;
const firstLookMs = 3_000;
const seldomMs = 300_000;
/** Until a word that did not get through is said again of a run that is over by then: its workflow may wait for it. */
const againMs = 30_000;

interface Tended {
  /** What it was like: a change is told at once. */
  readonly like: string;
  readonly isMine: boolean;
  dueAtMs: number;
  waitMs: number;
}

/** @param services  Asked for late: they are made with this. */
export function createRunScheduler(
  services: () => Services,
  connection: Connection,
  { namespace, taskQueue }: TemporalPlace,
): RunScheduler {
  const { workflow } = new Client({ connection, namespace });
  const tended = new Map<RunId, Tended>();
  /** Of whom Temporal could not be told, and when that is tried again. */
  const owed = new Map<RunId, number>();
  const takes: RunScheduler['takes'] = (config) =>
    config !== null && config.attached === undefined && isOfEngine(config.base);

  const optionsOf = (runId: RunId, reuse: WorkflowIdReusePolicy = WorkflowIdReusePolicy.REJECT_DUPLICATE) => ({
    taskQueue,
    workflowId: workflowIdOf(runId),
    workflowIdReusePolicy: reuse,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    args: [{ v: 1, runId }] as const,
  });
  const start = (runId: RunId) => workflow.start(workflowType, optionsOf(runId));
  const signal = (runId: RunId, reuse?: WorkflowIdReusePolicy) =>
    workflow.signalWithStart(workflowType, { ...optionsOf(runId, reuse), signal: wakeSignal });

  const soon = <T>(ask: () => Promise<T>) => connection.withDeadline(services().clock.now() + answersWithinMs, ask);

  async function tell(runId: RunId, ask: (runId: RunId) => Promise<unknown>): Promise<void> {
    try {
      const isOver = await soon(() => ask(runId)).then(
        () => false,
        (cause: unknown) => {
          if (cause instanceof WorkflowExecutionAlreadyStartedError) return true;
          throw cause;
        },
      );
      if (isOver) await endLike(runId);
    } catch (cause) {
      owed.set(runId, services().clock.now() + againMs);
      const of = { runId, cause: String(cause) };
      services().logger.warn('Temporal could not be told of a run; it will be told again.', of);
    }
  }

  /** The workflow is over and its run is not (S3). */
  async function endLike(runId: RunId): Promise<void> {
    const { status } = await soon(() => workflow.getHandle(workflowIdOf(runId)).describe());
    const seen = await services().store.run(runId);
    if (seen?.status !== 'running') return;
    services().logger.warn('The workflow of a run is over before it.', { runId, workflow: status.name });
    const ending = endingLike(status.name);
    if (ending === null) return void (await soon(() => signal(runId, WorkflowIdReusePolicy.ALLOW_DUPLICATE)));
    await takeHere(services(), seen, { do: 'end', ending });
  }

  async function tend(run: UnfinishedRun, nowMs: number): Promise<boolean> {
    const { runId, phase, control, owner } = run;
    const like = `${phase} ${control} ${owner}`;
    let known = tended.get(runId);
    if (known?.like !== like) {
      const isMine = known?.isMine ?? takes(await configOf(services(), runId));
      const isAsked = phase === 'waiting' || control !== 'none';
      known = { like, isMine, dueAtMs: isAsked ? nowMs : nowMs + firstLookMs, waitMs: firstLookMs };
      tended.set(runId, known);
    }
    if (!known.isMine || nowMs < known.dueAtMs) return known.isMine;
    known.waitMs = Math.min(known.waitMs * 2, seldomMs);
    known.dueAtMs = nowMs + known.waitMs;
    services().runs.cleanUp(runId, () => tell(runId, signal));
    return true;
  }

  return {
    takes,
    start: (runId) => tell(runId, start),
    wake: (runId) => tell(runId, signal),
    async tend(runs) {
      const nowMs = services().clock.now();
      const mine = new Set<RunId>();
      for (const run of runs) if (await tend(run, nowMs)) mine.add(run.runId);
      const seen = new Set(runs.map(({ runId }) => runId));
      for (const runId of tended.keys()) if (!seen.has(runId)) tended.delete(runId);
      for (const [runId, dueAtMs] of owed) {
        if (!seen.has(runId) && nowMs < dueAtMs) continue;
        owed.delete(runId);
        if (!seen.has(runId)) services().runs.cleanUp(runId, () => tell(runId, signal));
      }
      return mine;
    },
  };
}

/** Runs of foreign runtimes stay with the process that has their programs. */
function isOfEngine(base: string): boolean {
  return base === 'native' || base.startsWith('agent-');
}

/** Null: it goes on, in a new workflow. */
function endingLike(status: WorkflowExecutionStatusName): Ending | null {
  switch (status) {
    case 'TERMINATED':
    case 'CANCELLED':
      return { status: 'cancelled' };
    case 'FAILED':
    case 'TIMED_OUT':
      return workflowFailed;
    case 'RUNNING':
    case 'PAUSED':
    case 'COMPLETED':
    case 'CONTINUED_AS_NEW':
    case 'UNSPECIFIED':
    case 'UNKNOWN':
      return null;
  }
}
