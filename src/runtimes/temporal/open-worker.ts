// A worker of Temporal in this process: stretches of runs, and the workflows that ask for them.
//
// W1. Temporal may be away, at the start and later: the worker says so and tries again, and nothing else suffers from it.
// W2. It stops in order: no new stretch is taken, and those at work end, or are left, by the drain of their process.

import {
  bundleWorkflowCode,
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  Worker,
  type NativeConnectionOptions,
  type WorkflowBundle,
} from '@temporalio/worker';
import { createActivities } from './activities.ts';
import { fileURLToPath } from 'node:url';
import { nativeReason } from './native-reason.ts';
import { sleep } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import type { RunWatch } from '../watch-runs.ts';
import type { Services } from '../../tasks/services.ts';
import type { TemporalPlace } from './run-scheduler.ts';

export interface WorkerOptions extends TemporalPlace, WorkOptions {
  readonly connection: NativeConnectionOptions;
}

export interface WorkOptions {
  readonly watch: RunWatch;
  /** Stretches at once; one that waits for a sub-agent counts, and so does the sub-agent. */
  readonly concurrent: number;
}

export interface RunWorker {
  /** Resolves once it has been let in. */
  readonly began: Promise<void>;
  /** Takes nothing new; resolves when what it had is over (W2). */
  stop(): Promise<void>;
}

const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

export function openWorker(services: Services, options: WorkerOptions): RunWorker {
  const { clock, logger } = services;
  const { namespace, taskQueue } = options;
  const stopping = new AbortController();
  const began = Promise.withResolvers<void>();
  let worker: Worker | null = null;
  let waitMs = firstRetryMs;

  async function workUntilStopped(): Promise<void> {
    installRuntime(logger);
    const workflowBundle = await bundle(logger);
    const connection = await NativeConnection.connect(options.connection);
    try {
      worker = await createWorker(services, { ...options, connection, workflowBundle });
      logger.info('This process works for Temporal.', { namespace, taskQueue });
      began.resolve();
      waitMs = firstRetryMs;
      if (!stopping.signal.aborted) await worker.run();
    } finally {
      worker = null;
      await connection.close();
    }
  }

  async function keepWorking(): Promise<void> {
    while (!stopping.signal.aborted)
      try {
        await workUntilStopped();
      } catch (cause) {
        const reason = nativeReason(cause);
        const { address = null } = options.connection;
        const facts = { address, namespace, taskQueue, waitMs, ...(reason === null ? {} : { reason }) };
        const told = 'Temporal cannot be worked for now; it is tried again (temporal.address, temporal.namespace).';
        logger.error(told, facts, reason === null ? cause : undefined);
        await sleep(clock, waitMs, stopping.signal);
        waitMs = Math.min(waitMs * 2, longestRetryMs);
      }
  }

  const done = keepWorking();
  return {
    began: began.promise,
    async stop() {
      began.resolve();
      stopping.abort();
      if (worker?.getState() === 'RUNNING') worker.shutdown();
      await done;
    },
  };
}

/** More than any drain: what is left then is ours to stop. */
const graceMs = 3_600_000;

function createWorker(
  services: Services,
  o: Omit<WorkerOptions, 'connection'> & {
    readonly connection: NativeConnection;
    readonly workflowBundle: WorkflowBundle;
  },
): Promise<Worker> {
  return Worker.create({
    connection: o.connection,
    namespace: o.namespace,
    taskQueue: o.taskQueue,
    workflowBundle: o.workflowBundle,
    activities: createActivities(services, o.watch),
    maxConcurrentActivityTaskExecutions: o.concurrent,
    shutdownGraceTime: graceMs,
    // A heartbeat also brings the news of a cancel.
    maxHeartbeatThrottleInterval: '5 seconds',
  });
}

let bundled: Promise<WorkflowBundle> | null = null;

/** It is the same for all workers of a process, and takes seconds. */
function bundle(logger: Logger): Promise<WorkflowBundle> {
  bundled ??= bundleWorkflow(logger).catch((cause: unknown) => {
    bundled = null;
    throw cause;
  });
  return bundled;
}

export function bundleWorkflow(logger: Logger): Promise<WorkflowBundle> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const workflowsPath = fileURLToPath(new URL(`./run-workflow.${extension}`, import.meta.url));
  return bundleWorkflowCode({ workflowsPath, logger: loggerFor(logger) });
}

let isInstalled = false;

/** One of a process; that of the program, where it has one. */
export function installRuntime(logger: Logger): void {
  if (isInstalled) return;
  isInstalled = true;
  const filter = makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' });
  try {
    // Its own handling of signals would end workers before their process does.
    Runtime.install({
      logger: loggerFor(logger),
      shutdownSignals: [],
      telemetryOptions: { logging: { filter, forward: {} } },
    });
  } catch (cause) {
    logger.warn('Temporal was set up before, by somebody else.', { cause: String(cause) });
  }
}

/** What the activities themselves have said, where there is something to say. */
const saidByUs = 'Activity failed';

/** Of Temporal's own words, those that an operator needs. */
function loggerFor(logger: Logger) {
  const warn = (message: string) => {
    if (message !== saidByUs) logger.warn('Temporal says something.', { message });
  };
  const nothing = () => {};
  return {
    log: (level: string, message: string) => (level === 'WARN' || level === 'ERROR' ? warn(message) : undefined),
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn,
    error: warn,
  };
}
