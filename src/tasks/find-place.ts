// Where a task belongs: its harness and session, by scope first (U-042), then in the order of UD-67.

import {
  HarnessMismatchError,
  NotFoundError,
  RequestError,
  SessionBusyError,
  SessionExpiredError,
} from '../core/errors.ts';
import { findContinuable, findHarness, findLiveSession } from './find-in-scope.ts';
import type { RunRecord, SessionRecord } from '../stores/store.ts';
import type { HarnessRecord } from '../stores/harness-record.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';
import type { TaskRequest } from './accept-task.ts';

export interface Place {
  readonly harness: HarnessRecord;
  /** Null: the task begins a session. */
  readonly session: SessionRecord | null;
  readonly previousRunId: RunId | null;
  /** The response whose conversation and files the new session begins with (UD-28). */
  readonly fork: RunRecord | null;
}

/** What is unknown and what is another's are not told apart. @throws RequestError */
export async function findPlace(services: Services, { principal, body, queued }: TaskRequest): Promise<Place> {
  const param = 'metadata.harness_id';
  if (queued !== undefined) return findQueuePlace(services, principal, queued.sessionId);
  const named =
    body.harnessId === null ? null : await findHarness(services, principal, { name: body.harnessId, param });
  if (body.previousResponseId === null) {
    const harness = named ?? (await defaultHarness(services, principal));
    if (harness === null) throw new NotFoundError('harness', param);
    return { harness, session: null, previousRunId: null, fork: null };
  }
  const { session, previous } = await findPrevious(services, principal, body.previousResponseId);
  const previousRunId = previous.runId;
  if (named !== null && named.harnessId !== session.harnessId) throw new HarnessMismatchError();
  const harness = named ?? (await findHarness(services, principal, { name: session.harnessId, param }));
  if (body.fork) return forkPlace(services, { harness, session, previous });
  if (session.runningRunId !== null) throw new SessionBusyError(session.sessionId, session.runningRunId);
  // Judged again inside the transaction; here so that the order of checks holds.
  const tip = await services.store.tip(session.sessionId);
  if (tip !== previousRunId) throw await goneOn(services, session, tip);
  return { harness, session, previousRunId, fork: null };
}

/** A task that another process began in this moment is told like one that was there before (B106). */
async function goneOn({ store }: Services, { sessionId }: SessionRecord, tip: RunId | null): Promise<RequestError> {
  const runningRunId = (await store.session(sessionId))?.runningRunId ?? null;
  return runningRunId === null ? notTip(tip) : new SessionBusyError(sessionId, runningRunId);
}

/** A fork of a response that has ended disturbs nobody, whatever its session is at. */
async function forkPlace(
  services: Services,
  {
    harness,
    session,
    previous,
  }: { readonly harness: HarnessRecord; readonly session: SessionRecord; readonly previous: RunRecord },
): Promise<Place> {
  if (previous.status === 'running') throw new SessionBusyError(session.sessionId, previous.runId);
  if ((await services.files?.has(previous)) !== true) throw await forkUnavailable(services, previous);
  return { harness, session: null, previousRunId: previous.runId, fork: previous };
}

async function findQueuePlace(services: Services, principal: string, name: SessionRecord['sessionId']): Promise<Place> {
  const session = await findLiveSession(services, principal, name);
  const harness = await findHarness(services, principal, { name: session.harnessId });
  return { harness, session, previousRunId: await services.store.tip(session.sessionId), fork: null };
}

/** The oldest harness of the base that the operator prefers (UD-34). */
export async function defaultHarness(services: Services, principal: string): Promise<HarnessRecord | null> {
  return (await harnessesInOrder(services, principal))[0] ?? null;
}

/** Those of the bases that are there, the operator's preferred one first, then the others; of one base the oldest first. */
export async function harnessesInOrder(
  { store, harnesses }: Services,
  principal: string,
): Promise<readonly HarnessRecord[]> {
  const records = await store.harnesses(principal);
  const known = harnesses.bases.flatMap((base) => records.filter((record) => record.base === base));
  return [...known, ...records.filter((record) => !known.includes(record))];
}

async function findPrevious(
  services: Services,
  principal: string,
  name: string,
): Promise<{ readonly session: SessionRecord; readonly previous: RunRecord }> {
  const param = 'previous_response_id';
  const previous = await findContinuable(services, principal, { name, param });
  const session = await services.store.session(previous.sessionId);
  if (session === null) throw new NotFoundError('response', param);
  if (session.expiredAtMs !== null) throw new SessionExpiredError(param);
  return { session, previous };
}

/** What is forked has no state any more: it may be that its session has gone in this moment. */
export async function forkUnavailable({ store }: Services, { sessionId }: RunRecord): Promise<RequestError> {
  const session = await store.session(sessionId);
  if (session === null) return new NotFoundError('response', 'previous_response_id');
  if (session.expiredAtMs !== null) return new SessionExpiredError('previous_response_id');
  return new RequestError({
    status: 409,
    errorType: 'invalid_request_error',
    code: 'reins_fork_unavailable',
    message: 'The files as they were after that response are not kept any more; fork a newer one.',
    param: 'previous_response_id',
  });
}

export function notTip(tip: RunId | null): RequestError {
  return new RequestError({
    status: 409,
    errorType: 'invalid_request_error',
    code: 'reins_not_session_tip',
    message: 'The session has gone on since that response; continue its newest one.',
    param: 'previous_response_id',
    detail: { tip },
  });
}
