import { acceptTask } from './accept-task.ts';
import { RequestError } from '../core/errors.ts';
import { storedTaskBody } from './task-body.ts';
import type { QueuedTask } from '../stores/store.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { Services } from './services.ts';

export interface StartedTask {
  readonly messageId: string;
  readonly runId: RunId;
}

/**
 * Starts the oldest waiting entry of each session that is free and not held, or of one session. An entry that can never
 * start so holds its queue, until a person changes what it needs or takes it back.
 */
export async function startQueued(services: Services, only?: SessionId): Promise<readonly StartedTask[]> {
  const started: StartedTask[] = [];
  if (services.runs.isLeaving) return started;
  for (const task of await services.store.startableTasks()) {
    if (only !== undefined && task.sessionId !== only) continue;
    if (!(await hasAgentOf(services, task))) continue;
    const runId = await start(services, task);
    if (runId !== null) started.push({ messageId: task.messageId, runId });
  }
  return started;
}

/** A task of an agent that is not here is for the process that has it (E-833). */
async function hasAgentOf({ store, harnesses }: Services, { sessionId }: QueuedTask): Promise<boolean> {
  const session = await store.session(sessionId);
  const harness = session === null ? null : await store.harness(session.harnessId);
  return harness === null || harnesses.adapter(harness.base) !== undefined;
}

async function start(services: Services, task: QueuedTask): Promise<RunId | null> {
  const { principal, sessionId, messageId } = task;
  const queued = { sessionId, messageId };
  const body = storedTaskBody(task.body);
  if (body === null) return hold(services, queued, 'damaged');
  try {
    return (await acceptTask(services, { principal, body, idempotency: null, queued })).runId;
  } catch (cause) {
    if (overtaken(cause)) return null;
    if (!(cause instanceof RequestError)) throw cause;
    return hold(services, queued, cause.code);
  }
}

async function hold(
  { store, logger }: Services,
  queued: Pick<QueuedTask, 'sessionId' | 'messageId'>,
  code: string,
): Promise<null> {
  logger.warn('A queued task cannot start; its queue is held.', { ...queued, code });
  await store.holdQueue(queued.sessionId, true);
  return null;
}

/**
 * Another task came first, the entry was started or taken back in this moment, its principal or the server has its fill, or
 * the server closes: the next scan looks again.
 */
function overtaken(cause: unknown): boolean {
  if (!(cause instanceof RequestError)) return false;
  return [409, 429].includes(cause.status) || cause.status >= 500 || cause.code === 'reins_message_not_found';
}
