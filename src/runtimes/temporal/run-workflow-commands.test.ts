// What the workflow asks for, over activities whose answers the test gives (E-889): in Temporal's own sandbox, from histories that
// are written here, with no server. A history in which it would have asked for something else does not replay.

import { expect, test } from 'vitest';
import { Worker, type WorkflowBundle } from '@temporalio/worker';
import { bundleWorkflow, installRuntime } from './open-worker.ts';
import { createLogBuilder, testRunId, testSessionId } from '../../testing/log-builder.ts';
import { evolve, initialRunState } from '../../core/run-state.ts';
import { outlineOf } from '../../engine/outline.ts';
import { silentLogger } from '../../core/logger.ts';
import { workflowIdOf, workflowType, type Activities, type Standing } from './contract.ts';

installRuntime(silentLogger);
let bundled: Promise<WorkflowBundle> | null = null;

async function replay(history: readonly Event[]): Promise<void> {
  const workflowBundle = await (bundled ??= bundleWorkflow(silentLogger));
  await Worker.runReplayHistory({ workflowBundle }, { events: history }, workflowIdOf(testRunId));
}

/** How a run stands that was admitted, and one whose model has answered. */
function standings(): { readonly begun: Standing; readonly answered: Standing } {
  const log = createLogBuilder();
  const open = (): Standing => {
    const state = log.events.reduce(evolve, initialRunState(testRunId, testSessionId));
    return { v: 1, at: 'open', generation: 1, outline: outlineOf(state), isFlagged: false };
  };
  log.start();
  const begun = open();
  log.step({ blocks: [{ kind: 'text', pieces: ['Hello.'] }], finishReason: 'end-turn' });
  return { begun, answered: open() };
}

const { begun, answered } = standings();
const over: Standing = { v: 1, at: 'over' };

type Event = Readonly<Record<string, unknown>>;
type Step =
  | {
      readonly asks: keyof Activities;
      readonly gets: Standing | 'failure' | 'cancelled';
      /** The cancel comes while it is at work. */
      readonly isCancelled?: boolean;
      /** A new history is suggested before it; what a cancelled workflow would have asked for then only takes a number. */
      readonly isLong?: boolean;
    }
  | { readonly hears: 'reins.wake.v1' }
  | { readonly ends: 'COMPLETED' | 'FAILED' | 'CANCELED' | 'CONTINUED_AS_NEW' };

const typeJson = Buffer.from('json/plain').toString('base64');
const payloads = (value: unknown) => ({
  payloads: [{ metadata: { encoding: typeJson }, data: Buffer.from(JSON.stringify(value)).toString('base64') }],
});

const taskQueue = { name: 'reins' };
const first = '00000000-0000-4000-8000-000000000001';

/** As a server writes it down. */
class History {
  readonly events: Event[] = [];
  #activities = 0;

  constructor() {
    this.#add('WORKFLOW_EXECUTION_STARTED', {
      workflowType: { name: workflowType },
      taskQueue,
      workflowId: workflowIdOf(testRunId),
      originalExecutionRunId: first,
      firstExecutionRunId: first,
      attempt: 1,
      workflowTaskTimeout: '10s',
      input: payloads({ v: 1, runId: testRunId }),
    });
  }

  /** Gives its id. */
  #add(type: string, attributes: object): string {
    const name = type.toLowerCase().replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    const eventId = String(this.events.length + 1);
    const eventTime = new Date(1_800_000_000_000 + this.events.length).toISOString();
    this.events.push({ eventId, eventTime, eventType: `EVENT_TYPE_${type}`, [`${name}EventAttributes`]: attributes });
    return eventId;
  }

  /** The workflow is asked what it wants. */
  #task({ suggestContinueAsNew = false } = {}) {
    const scheduledEventId = this.#add('WORKFLOW_TASK_SCHEDULED', { taskQueue });
    const startedEventId = this.#add('WORKFLOW_TASK_STARTED', { scheduledEventId, suggestContinueAsNew });
    const sdkMetadata = { coreUsedFlags: [1, 2, 3], sdkName: 'temporal-typescript', sdkVersion: '1.24.0' };
    const ids = { scheduledEventId, startedEventId };
    return { workflowTaskCompletedEventId: this.#add('WORKFLOW_TASK_COMPLETED', { ...ids, sdkMetadata }) };
  }

  play(step: Step): void {
    if ('asks' in step) return this.#work(step);
    const isLong = 'ends' in step && step.ends === 'CONTINUED_AS_NEW';
    const task = this.#task({ suggestContinueAsNew: isLong });
    if ('hears' in step) this.#add('WORKFLOW_EXECUTION_SIGNALED', { signalName: step.hears });
    else this.#add(`WORKFLOW_EXECUTION_${step.ends}`, { ...task, workflowType: { name: workflowType } });
  }

  #work({ asks, gets, isCancelled = gets === 'cancelled', isLong = false }: Extract<Step, { asks: unknown }>): void {
    if (isLong) this.#activities += 1;
    const activity = { activityId: String(++this.#activities), activityType: { name: asks } };
    const scheduledEventId = this.#add('ACTIVITY_TASK_SCHEDULED', {
      ...activity,
      ...this.#task({ suggestContinueAsNew: isLong }),
    });
    const ids = { scheduledEventId, startedEventId: this.#add('ACTIVITY_TASK_STARTED', { scheduledEventId }) };
    const latestCancelRequestedEventId = isCancelled ? this.#cancel(scheduledEventId) : null;
    switch (gets) {
      case 'failure': {
        const failure = { message: 'No.', applicationFailureInfo: { nonRetryable: true } };
        return void this.#add('ACTIVITY_TASK_FAILED', { ...ids, failure });
      }
      case 'cancelled':
        return void this.#add('ACTIVITY_TASK_CANCELED', { ...ids, latestCancelRequestedEventId });
      default:
        this.#add('ACTIVITY_TASK_COMPLETED', { ...ids, result: payloads(gets) });
    }
  }

  /** Of the workflow, and so of what it waits for. */
  #cancel(scheduledEventId: string): string {
    this.#add('WORKFLOW_EXECUTION_CANCEL_REQUESTED', {});
    return this.#add('ACTIVITY_TASK_CANCEL_REQUESTED', { scheduledEventId, ...this.#task() });
  }
}

function historyOf(steps: readonly Step[]): readonly Event[] {
  const history = new History();
  for (const step of steps) history.play(step);
  return history.events;
}

const stories: Readonly<Record<string, readonly Step[]>> = {
  'E-871: an answer: load, call, close': [
    { asks: 'reins.load.v1', gets: begun },
    { asks: 'reins.callModel.v1', gets: answered },
    { asks: 'reins.close.v1', gets: over },
    { ends: 'COMPLETED' },
  ],
  'E-873: a call whose outcome the log does not have is asked for again': [
    { asks: 'reins.load.v1', gets: begun },
    { asks: 'reins.callModel.v1', gets: begun },
    { asks: 'reins.callModel.v1', gets: over },
    { ends: 'COMPLETED' },
  ],
  'E-880, E-882: a parked run asks for nothing before it is woken, and then looks first': [
    { asks: 'reins.load.v1', gets: { v: 1, at: 'parked' } },
    { hears: 'reins.wake.v1' },
    { asks: 'reins.load.v1', gets: { v: 1, at: 'ready', generation: 2 } },
    { asks: 'reins.append.v1', gets: answered },
    { asks: 'reins.close.v1', gets: over },
    { ends: 'COMPLETED' },
  ],
  'E-884: an activity that fails for good has the run closed before the workflow fails': [
    { asks: 'reins.load.v1', gets: begun },
    { asks: 'reins.callModel.v1', gets: 'failure' },
    { asks: 'reins.close.v1', gets: over },
    { ends: 'FAILED' },
  ],
  'E-884: a workflow that is cancelled closes its run, and then is': [
    { asks: 'reins.load.v1', gets: begun },
    { asks: 'reins.callModel.v1', gets: 'cancelled' },
    { asks: 'reins.close.v1', gets: over },
    { ends: 'CANCELED' },
  ],
  'E-884: one that is cancelled while its worker is lost closes its run, and fails': [
    { asks: 'reins.load.v1', gets: begun },
    { asks: 'reins.callModel.v1', gets: 'failure', isCancelled: true },
    { asks: 'reins.close.v1', gets: over },
    { ends: 'FAILED' },
  ],
  'E-881, E-884: no new history is begun that would not hear of the cancel': [
    { asks: 'reins.load.v1', gets: begun, isCancelled: true },
    { asks: 'reins.close.v1', gets: over, isLong: true },
    { ends: 'CANCELED' },
  ],
  'E-881: between two steps it begins anew where that is suggested': [
    { asks: 'reins.load.v1', gets: begun },
    { ends: 'CONTINUED_AS_NEW' },
  ],
};

test.each(Object.entries(stories))('%s', async (_, steps) => replay(historyOf(steps)), 60_000);

test.each(Object.entries(stories))('%s; a story that ends otherwise is refused', async (_, steps) => {
  const ending = steps.at(-1);
  const isDone = ending !== undefined && 'ends' in ending && ending.ends === 'COMPLETED';
  const other = [...steps.slice(0, -1), { ends: isDone ? 'FAILED' : 'COMPLETED' } as const];
  await expect(replay(historyOf(other))).rejects.toThrow(/Nondeterminism/i);
});

test('a story with another activity in it, or with one more, is refused', async () => {
  const [load, , ...rest] = stories['E-871: an answer: load, call, close'] ?? [];
  if (load === undefined) throw new Error('There is no story.');
  for (const steps of [
    [load, { asks: 'reins.runTool.v1', gets: answered } as const, ...rest],
    [{ asks: 'reins.load.v1', gets: { v: 1, at: 'parked' } } as const, load, { ends: 'COMPLETED' } as const],
  ])
    await expect(replay(historyOf(steps))).rejects.toThrow(/Nondeterminism/i);
});
