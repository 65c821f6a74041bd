// A request becomes a task: everything that can be refused is refused before the one transaction that admits it (UD-67),
// and a crash on either side of that transaction loses nothing and starts nothing twice (E-050). What costs little is judged
// first: for who has no room no file is copied and no byte stored.

import { chooseModel, type TaskModel } from './choose-model.ts';
import { executeRun } from './execute-run.ts';
import { FolderTakenError } from '../files/workspaces.ts';
import { findContinuable } from './find-in-scope.ts';
import { findPlace, forkUnavailable, notTip, type Place } from './find-place.ts';
import { makeAdmission } from './make-admission.ts';
import { findFiles, takeInFiles } from './take-in-files.ts';
import { refuseTimeout } from './task-limits.ts';
import { chargeUpload, quotaExhausted, quotaLeft, refuseOverCaps, type QuotaLeft } from './principal-limits.ts';
import { settleFolder } from './settle-folder.ts';
import { takeSlot } from './take-slot.ts';
import {
  NotFoundError,
  RateLimitedError,
  RequestError,
  SessionBusyError,
  SessionExpiredError,
  TaskEndedError,
} from '../core/errors.ts';
import { runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Admission, AdmitResult, IdempotencyClaim } from '../stores/admission.ts';
import type { ParentRun } from '../core/run-event.ts';
import type { RunConfig, RunPermissions } from '../core/run-config.ts';
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
  /** A turn that lives no longer than the call that waits for it. */
  readonly attached?: AttachedTurn;
}

export interface AttachedTurn
  extends Required<Pick<RunConfig, 'attached'>>, Pick<RunConfig, 'directory' | 'reasoning'> {
  readonly withoutTools: readonly string[];
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
  const model = await chooseModel(services, request, place.harness);
  const admitted = await admit(services, request, { ...place, model }).catch(async (cause: unknown) => {
    // It may have been refused for the very task that it repeats.
    const first = cause instanceof RequestError ? await findRepeated(services, request) : null;
    if (first === null) throw cause;
    return { outcome: 'replayed', ...first } as const;
  });
  if (admitted.outcome === 'replayed') return replayOf(services, request.principal, admitted);
  begin(services, admitted);
  const { runId, sessionId } = admitted.run;
  return { runId, sessionId, replayed: false, sameBody: true };
}

/** Here, or by who takes such runs: then it needs no place here. */
function begin(services: Services, { run, slot, events }: Extract<Admitted, { outcome: 'admitted' }>): void {
  const { runs, scheduler } = services;
  const { runId } = run;
  const [first] = events;
  const config = first?.type === 'run-started' ? (first.data._config ?? null) : null;
  if (scheduler?.takes(config) === true) {
    slot?.[Symbol.dispose]();
    return runs.cleanUp(runId, () => scheduler.start(runId));
  }
  const work = { run, slot, continues: false };
  if (!runs.start(runId, (signals) => executeRun(services, { ...work, ...signals }))) slot?.[Symbol.dispose]();
}

type Admitted =
  | Extract<AdmitResult, { outcome: 'replayed' }>
  /** What works for another task needs no place of its own. */
  | (Extract<AdmitResult, { outcome: 'admitted' }> & { readonly slot: RunSlot | null });

/** What is taken or made for a task that is refused after all is given back: its slot, its charge, its new session's folder. */
async function admit(services: Services, request: TaskRequest, place: TaskPlace): Promise<Admitted> {
  const { random, workspaces } = services;
  const { fork, session } = place;
  const { principal, child, ids } = request;
  const { template } = place.harness.setup;
  const { runId, sessionId } = ids ?? {
    runId: runIds.make(random.token()),
    sessionId: sessionIds.make(random.token()),
  };
  const owner = { principal, runId, sessionId: session?.sessionId ?? sessionId };
  const found = await findFiles(services, principal, request.body.messages);
  await using undo = new AsyncDisposableStack();
  const isFull = services.harnesses.adapter(place.harness.base)?.isFull?.(owner.sessionId) === true;
  const { quota, slot } =
    child === undefined ? await takeCapacity(services, undo, { principal, ...found, isFull }) : noCapacity;
  if (session === null && (ids === undefined || fork !== null))
    undo.defer(() => removeUnowned(services, owner.sessionId));
  if (fork !== null) await restoreFiles(services, fork, owner.sessionId);
  else if (session !== null) await settleFolder(services, owner, 'begin');
  else if (template !== null) await workspaces.ensure(owner.sessionId, template);
  const taken = await takeInFiles(services, owner, found);
  const admission = await makeAdmission(services, { ...request, ...owner, ...taken }, { ...place, quota });
  await services.ownership.present();
  const result = await services.log.admit(admission);
  if (result.outcome === 'replayed') return result;
  if (result.outcome !== 'admitted') throw refusal(admission, result);
  undo.move();
  return { ...result, slot };
}

interface Capacity {
  readonly quota: QuotaLeft;
  readonly slot: RunSlot | null;
}
/** What works for another task is paid for by that, and needs no place of its own. */
const noCapacity: Capacity = { quota: { tokens: null, dollars: null }, slot: null };

/** @throws RequestError  429, 503. */
async function takeCapacity(
  services: Services,
  undo: AsyncDisposableStack,
  {
    principal,
    givenBytes,
    isFull,
  }: { readonly principal: string; readonly givenBytes: number; readonly isFull: boolean },
): Promise<Capacity> {
  await refuseOverCaps(services, principal);
  const quota = await quotaLeft(services, principal);
  const slot = undo.use(takeSlot(services, isFull));
  undo.defer((await chargeUpload(services, principal, givenBytes)).release);
  return { quota, slot };
}

/** As they were then, or not at all: what goes while it is copied is gone (UD-28). */
async function restoreFiles(services: Services, fork: RunRecord, to: SessionId): Promise<void> {
  const { files, store, workspaces } = services;
  const taken = await store.session(to);
  if (taken !== null) throw new SessionBusyError(to, taken.runningRunId);
  // A crash undoes nothing, and who names a session by itself names the same one again.
  await workspaces.remove(to);
  try {
    if ((await files?.restore(fork, to)) === true) return;
  } catch (cause) {
    // Of two who begin the same session at once the other one was quicker.
    if (cause instanceof FolderTakenError) throw new SessionBusyError(to, null);
    if ((await files?.has(fork)) === true) throw cause;
  }
  throw await forkUnavailable(services, fork);
}

/** The folder of a session that there is not. One that another process has begun meanwhile is that session's. */
async function removeUnowned({ store, workspaces }: Services, sessionId: SessionId): Promise<void> {
  if ((await store.session(sessionId)) === null) await workspaces.remove(sessionId);
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

/** Where a task is to run, and with what. */
export type TaskPlace = Place & { readonly model: TaskModel };

function refusal(
  { sessionId, atMs }: Admission,
  result: Exclude<AdmitResult, { outcome: 'admitted' | 'replayed' }>,
): RequestError {
  switch (result.outcome) {
    case 'busy':
      return new SessionBusyError(sessionId, result.runningRunId);
    case 'no-session':
      return new NotFoundError('response', 'previous_response_id');
    case 'expired':
      return new SessionExpiredError('previous_response_id');
    case 'not-tip':
      return notTip(result.tip);
    case 'limited':
      return new RateLimitedError(result);
    case 'exhausted':
      return quotaExhausted(result, atMs);
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
