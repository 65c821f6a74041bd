// A request becomes a task: everything that can be refused is refused before the one transaction that admits it (UD-67),
// and a crash on either side of that transaction loses nothing and starts nothing twice (E-050).

import { chooseModel, type TaskModel } from './choose-model.ts';
import { executeRun } from './execute-run.ts';
import { findContinuable } from './find-in-scope.ts';
import { findPlace, forkUnavailable, notTip, type Place } from './find-place.ts';
import { head, toWellFormed } from '../core/text.ts';
import { readHistory } from './read-history.ts';
import { keptItems } from './input-items.ts';
import { takeInFiles, type FilesOwner, type TakenIn } from './take-in-files.ts';
import { limitsOf, refuseTimeout, withinQuota } from './task-limits.ts';
import { capsOf, quotaLeft, type QuotaLeft } from './principal-limits.ts';
import { takeSlot } from './take-slot.ts';
import { NotFoundError, RateLimitedError, RequestError, SessionBusyError, TaskEndedError } from '../core/errors.ts';
import { runConfigOf } from './run-config.ts';
import { runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { Admission, AdmitResult, IdempotencyClaim, RunRecord } from '../stores/store.ts';
import type { ParentRun, RunPermissions, UserMessage } from '../core/run-event.ts';
import type { RunSlot } from './run-slots.ts';
import type { Services } from './services.ts';
import type { TaskBody } from './task-body.ts';

/** A run that works for another one (E-905). */
export interface ChildOf {
  readonly parent: ParentRun;
  /** Nowhere wider than the parent's. */
  readonly permissions: RunPermissions;
}

export interface TaskRequest {
  readonly principal: string;
  readonly body: TaskBody;
  readonly idempotency: IdempotencyClaim | null;
  /** Absent: made here. A session of that id is the task's own, where the task begins one. */
  readonly ids?: { readonly runId: RunId; readonly sessionId: SessionId };
  readonly child?: ChildOf;
  /** Absent: what the caller says is new; `retry`: it goes on from what was said before (E-052). */
  readonly cause?: 'submit' | 'retry';
  /** The waiting entry that this starts: it continues the tip of its session, whatever the body says. */
  readonly queued?: { readonly sessionId: SessionId; readonly messageId: string };
}

export interface Accepted {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** The key was used before: this is the first task, and nothing was started. */
  readonly replayed: boolean;
  readonly sameBody: boolean;
}

/**
 * Admits a task and starts it.
 * @throws RequestError  In the order of UD-67; the key of a refused request stays free (UD-13).
 */
export async function acceptTask(services: Services, request: TaskRequest): Promise<Accepted> {
  const repeated = await findRepeated(services, request);
  if (repeated !== null) return repeated;
  if (services.runs.isDraining && request.child === undefined) throw closing();
  refuseTimeout(services, request.body);
  const place = await findPlace(services, request);
  const model = await chooseModel(services, request.body, place.harness);
  const admitted = await admit(services, request, { ...place, model });
  if (admitted.outcome === 'replayed') return replayOf(services, request.principal, admitted);
  const { run, slot } = admitted;
  const work = { run, slot, continues: false };
  if (!services.runs.start(run.runId, (signals) => executeRun(services, { ...work, ...signals })))
    slot?.[Symbol.dispose]();
  return { runId: run.runId, sessionId: run.sessionId, replayed: false, sameBody: true };
}

type Admitted =
  | Extract<AdmitResult, { outcome: 'replayed' }>
  /** What works for another task needs no place of its own. */
  | (Extract<AdmitResult, { outcome: 'admitted' }> & { readonly slot: RunSlot | null });

/** From here on something is written: where the task is refused after all, its new session's folder goes again. */
async function admit(services: Services, request: TaskRequest, place: TaskPlace): Promise<Admitted> {
  const { random } = services;
  const { fork, session } = place;
  const { runId, sessionId } = request.ids ?? {
    runId: runIds.make(random.token()),
    sessionId: sessionIds.make(random.token()),
  };
  const owner = { principal: request.principal, runId, sessionId: session?.sessionId ?? sessionId };
  let isAdmitted = false;
  try {
    if (fork !== null) await restoreFiles(services, fork, owner.sessionId);
    const taken = await takeInFiles(services, owner, request.body.messages);
    using held = new DisposableStack();
    const isOwn = request.child === undefined;
    const quota = isOwn ? await quotaLeft(services, request.principal) : noQuota;
    const slot = isOwn ? held.use(takeSlot(services)) : null;
    const admission = await makeAdmission(services, { ...request, ...owner, ...taken }, { ...place, quota });
    await services.ownership.present();
    const result = await services.log.admit(admission);
    if (result.outcome === 'replayed') return result;
    if (result.outcome !== 'admitted') throw refusal(admission, result);
    isAdmitted = true;
    held.move();
    return { ...result, slot };
  } finally {
    if (!isAdmitted && session === null && request.ids === undefined) await services.workspaces.remove(owner.sessionId);
  }
}

/** As they were then, or not at all: what goes while it is copied is gone (UD-28). */
async function restoreFiles({ files }: Services, fork: RunRecord, to: SessionId): Promise<void> {
  try {
    if ((await files?.restore(fork, to)) === true) return;
  } catch (cause) {
    if ((await files?.has(fork)) === true) throw cause;
  }
  throw forkUnavailable();
}

async function findRepeated(services: Services, { principal, idempotency }: TaskRequest): Promise<Accepted | null> {
  if (idempotency === null) return null;
  const known = await services.store.idempotency(principal, idempotency.key);
  if (known === null) return null;
  return replayOf(services, principal, { runId: known.runId, sameBody: known.bodyHash === idempotency.bodyHash });
}

async function replayOf(
  { store }: Services,
  principal: string,
  { runId, sameBody }: { readonly runId: RunId; readonly sameBody: boolean },
): Promise<Accepted> {
  const { sessionId } = await findContinuable({ store }, principal, { name: runId });
  return { runId, sessionId, replayed: true, sameBody };
}

type TaskPlace = Place & { readonly model: TaskModel };
/** What works for another task is paid for by that. */
const noQuota: QuotaLeft = { tokens: null, dollars: null };

async function makeAdmission(
  services: Services,
  task: TaskRequest & FilesOwner & TakenIn,
  { harness, session, previousRunId, fork, model, quota: left }: TaskPlace & { readonly quota: QuotaLeft },
): Promise<Admission> {
  const { principal, body, messages, refs, idempotency, queued, child, cause = 'submit', runId, sessionId } = task;
  const { clock, owner } = services;
  const atMs = clock.now();
  const agent = services.harnesses.adapter(harness.base)?.agent;
  const own = agent === undefined ? limitsOf(services, body, harness) : agent.limits(body.limits ?? {});
  const { limits, quota } = withinQuota(own, left);
  const facts = {
    harnessId: harness.harnessId,
    createdAt: Math.floor(atMs / 1000),
    metadata: queued === undefined ? body.metadata : { ...body.metadata, reins_message_id: queued.messageId },
    ignoredFields: body.ignoredFields,
    store: body.store,
    background: body.background,
    previousResponseId: previousRunId,
    reinsEvents: body.reinsEvents,
    view: 1,
    inputItems: keptItems(body.inputItems, refs),
    linkBase: services.settings.linkBase(),
    ...(fork === null ? {} : { forkedFrom: fork.runId }),
    ...(model.fallback === undefined ? {} : { modelFallback: model.fallback }),
    ...(quota.length === 0 ? {} : { quota }),
  } as const;
  const config = agent?.config ?? (await runConfigOf(services, harness, body));
  const data = {
    leg: 1,
    cause,
    ...(messages.length === 0 ? {} : { input: messages }),
    task: facts,
    _config: child === undefined ? config : { ...config, permissions: child.permissions },
    ...(agent === undefined ? {} : { agent: agent.ref }),
    ...(child === undefined ? {} : { parent: child.parent }),
    ...(idempotency === null ? {} : { requestId: idempotency.key }),
    model: model.ref,
    limits,
  } as const;
  return {
    runId,
    sessionId,
    harnessId: harness.harnessId,
    principal,
    ...(session === null ? { newSession: { title: titleOf(messages), ...(await forkOf(services, fork)) } } : {}),
    previousRunId,
    store: body.store,
    owner,
    ...(idempotency === null ? {} : { idempotency }),
    ...(queued === undefined ? {} : { queued }),
    ...(child === undefined ? capsOf(services, principal) : { parentRunId: child.parent.runId }),
    events: [{ v: 1, runId, sessionId, at: atMs, leg: 1, step: 0, attempt: 0, type: 'run-started', data }],
    atMs,
  };
}

/** What a forked session begins with, of its own. */
async function forkOf(
  services: Services,
  fork: Place['fork'],
): Promise<Pick<NonNullable<Admission['newSession']>, 'fork'>> {
  if (fork === null) return {};
  const { runId, sessionId, turn } = fork;
  const history = await readHistory(services, { sessionId, turn: turn + 1 });
  // What is removed meanwhile may have been read in part.
  if ((await services.store.run(runId))?.deleted !== false) throw new NotFoundError('response', 'previous_response_id');
  const contents = JSON.stringify(history).match(/sha256:[0-9a-f]{64}/g) ?? [];
  return { fork: { from: runId, history, contents: [...new Set(contents)] } };
}

/** First line of the first user text, at most 80 characters (UD-50). */
function titleOf(messages: readonly UserMessage[]): string {
  const text = messages[0]?.content.find((part) => part.type === 'text')?.text ?? '';
  return head(toWellFormed(text.trim().split('\n', 1)[0] ?? ''), 80);
}

function refusal(
  { sessionId }: Admission,
  result: Exclude<AdmitResult, { outcome: 'admitted' | 'replayed' }>,
): RequestError {
  switch (result.outcome) {
    case 'busy':
      return new SessionBusyError(sessionId, result.runningRunId);
    case 'no-session':
      return new NotFoundError('response', 'previous_response_id');
    case 'not-tip':
      return notTip(result.tip);
    case 'limited':
      return new RateLimitedError(result);
    case 'not-queued':
      return new NotFoundError('message');
    case 'parent-over':
      return new TaskEndedError();
  }
}

/** What works for a task that is at work is let begin; nothing else is (E-834). */
function closing(): RequestError {
  return new RequestError({
    status: 503,
    errorType: 'server_error',
    code: 'harness_unavailable',
    message: 'The server is closing and takes no new tasks; nothing was started.',
    headers: { 'Retry-After': '5' },
  });
}
