import { acceptTask, type TaskBody } from './accept-task.ts';
import { RequestError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
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
  if (services.runs.isDraining) return started;
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
  const { principal, sessionId, messageId, body } = task;
  const queued = { sessionId, messageId };
  try {
    const request = { principal, body: taskBodyOf(body), idempotency: null, queued };
    return (await acceptTask(services, request)).runId;
  } catch (cause) {
    if (overtaken(cause)) return null;
    if (!(cause instanceof RequestError)) throw cause;
    services.logger.warn('A queued task cannot start; its queue is held.', { ...queued, code: cause.code });
    await services.store.holdQueue(sessionId, true);
    return null;
  }
}

/** Another task came first, the entry was started or taken back in this moment, or the server closes: the next scan looks again. */
function overtaken(cause: unknown): boolean {
  if (!(cause instanceof RequestError)) return false;
  return cause.status === 409 || cause.status >= 500 || cause.code === 'reins_message_not_found';
}

/** A stored body is the `TaskBody` it was made from, as JSON; what that did not know yet is absent. */
function taskBodyOf(stored: JsonObject): TaskBody {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return stored as unknown as TaskBody;
}
