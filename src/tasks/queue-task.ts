// Follow-ups that wait for their session: in order, durable, held back after a task that failed or was cancelled (E-664).

import { chooseModel } from './choose-model.ts';
import { refuseTimeout } from './task-limits.ts';
import { findHarness, findLiveSession, goneSession } from './find-in-scope.ts';
import { HarnessMismatchError, IdempotencyConflictError, NotFoundError, RequestError } from '../core/errors.ts';
import { isJsonObject, toJsonValue } from '../core/json.ts';
import { startQueued } from './start-queued.ts';
import type { QueuedTask, SessionRecord } from '../stores/store.ts';
import { keptItems } from './input-items.ts';
import { namedUploads, uploadGiven } from './take-in-files.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';
import type { TaskBody } from './task-body.ts';

const maxEntries = 100;

export interface QueueEntry {
  readonly messageId: string;
  readonly status: 'queued' | 'held' | 'started';
  /** 1: the next to start; 0: started. */
  readonly position: number;
  readonly runId: RunId | null;
}

export interface Queue {
  readonly entries: readonly QueueEntry[];
  readonly held: boolean;
}

export interface FollowUp {
  readonly sessionId: string;
  readonly body: TaskBody;
  readonly bodyHash: string;
  /** The caller's own, for repeating; null = one is made. */
  readonly messageId: string | null;
}

/**
 * Puts a task behind what its session works on; in a free session it starts at once.
 * @throws RequestError  404; 400 and 422 as for a task; 409 `reins_idempotency_conflict`; 429 over 100 entries.
 */
export async function queueTask(services: Services, principal: string, followUp: FollowUp): Promise<QueueEntry> {
  const { body, bodyHash } = followUp;
  const session = await findLiveSession(services, principal, followUp.sessionId);
  const { sessionId } = session;
  await refuseEarly(services, session, body);
  const messageId = followUp.messageId ?? `msg_${services.random.token()}`;
  // What is known is only looked for: its files are there.
  const isNew = !(await services.store.queue(sessionId)).tasks.some((task) => task.messageId === messageId);
  const { messages, refs } = await uploadGiven(services, principal, isNew ? body.messages : []);
  const stored = toJsonValue({ ...body, messages, inputItems: keptItems(body.inputItems, refs) });
  if (!isJsonObject(stored)) throw new TypeError('A task is an object.');
  const task = { messageId, sessionId, principal, body: stored, bodyHash, uploads: namedUploads(messages) };
  const queued = await services.store.enqueue(task, maxEntries);
  if (queued.outcome === 'full') throw queueFull();
  if (queued.outcome === 'no-session') throw await goneSession(services, principal, sessionId);
  if (queued.outcome === 'known') {
    if (queued.task.bodyHash !== bodyHash) throw new IdempotencyConflictError('message_id');
    if (queued.task.status === 'started') return startedEntry(queued.task);
  } else {
    const started = (await startQueued(services, sessionId)).find((entry) => entry.messageId === messageId);
    if (started !== undefined) return startedEntry(started);
  }
  const entry = (await queueOf(services, session)).entries.find((each) => each.messageId === messageId);
  if (entry !== undefined) return entry;
  // Somebody has started it, and its run is over already; or it was taken back in this moment, and has no room any more.
  const known = await services.store.enqueue(task, 0);
  if (known.outcome === 'known' && known.task.status === 'started') return startedEntry(known.task);
  throw new NotFoundError('message');
}

/** What is certain to be refused when its turn comes is refused now. */
async function refuseEarly(services: Services, session: SessionRecord, body: TaskBody): Promise<void> {
  refuseTimeout(services, body);
  const param = 'metadata.harness_id';
  const { principal, harnessId } = session;
  const name = body.harnessId ?? harnessId;
  const harness = await findHarness(services, principal, { name, param });
  if (harness.harnessId !== harnessId) throw new HarnessMismatchError();
  await chooseModel(services, { principal, body }, harness);
}

function queueFull(): RequestError {
  return new RequestError({
    status: 429,
    errorType: 'rate_limit_error',
    code: 'rate_limited',
    message: `At most ${maxEntries} tasks may wait in a session; let some of them start first.`,
    detail: { limit: maxEntries },
    headers: { 'Retry-After': '5' },
  });
}

export async function readQueue(services: Services, principal: string, sessionId: string): Promise<Queue> {
  return queueOf(services, await findLiveSession(services, principal, sessionId));
}

/** @throws NotFoundError  There is no such entry, or it has started. */
export async function unqueueTask(
  services: Services,
  principal: string,
  { sessionId, messageId }: { readonly sessionId: string; readonly messageId: string },
): Promise<void> {
  const session = await findLiveSession(services, principal, sessionId);
  if (!(await services.store.unqueue(session.sessionId, messageId))) throw new NotFoundError('message');
}

/** Lets what was held back go on; a queue that is not held stays as it is. */
export async function resumeQueue(services: Services, principal: string, sessionId: string): Promise<Queue> {
  const session = await findLiveSession(services, principal, sessionId);
  await services.store.holdQueue(session.sessionId, false);
  await startQueued(services, session.sessionId);
  return queueOf(services, session);
}

async function queueOf({ store }: Services, { sessionId }: SessionRecord): Promise<Queue> {
  const { tasks, held } = await store.queue(sessionId);
  const waiting = tasks.filter(({ status }) => status === 'queued');
  const entries = tasks.map((task): QueueEntry => {
    const { messageId } = task;
    if (task.status === 'started') return startedEntry(task);
    return { messageId, status: held ? 'held' : 'queued', position: waiting.indexOf(task) + 1, runId: null };
  });
  return { entries, held };
}

function startedEntry({ messageId, runId }: Pick<QueuedTask, 'messageId' | 'runId'>): QueueEntry {
  return { messageId, status: 'started', position: 0, runId };
}
