// A request becomes a task: everything that can be refused is refused before the one transaction that admits it (UD-67),
// and a crash on either side of that transaction loses nothing and starts nothing twice (E-050).

import { executeRun } from './execute-run.ts';
import {
  HarnessMismatchError,
  InvalidInputError,
  ModelUnavailableError,
  NotFoundError,
  RequestError,
  SessionBusyError,
  SessionExpiredError,
  TaskEndedError,
} from '../core/errors.ts';
import { head, toWellFormed } from '../core/text.ts';
import { findContinuable, findHarness, findLiveSession } from './find-in-scope.ts';
import { runIds, sessionIds, type RunId, type SessionId } from '../core/ids.ts';
import type { Admission, AdmitResult, HarnessRecord, IdempotencyClaim, SessionRecord } from '../stores/store.ts';
import { noBudgets, type Limits, type ParentRun, type RunPermissions, type UserMessage } from '../core/run-event.ts';
import type { ModelChoice } from '../core/model-choice.ts';
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
  const admission = await makeAdmission(services, request, { ...place, model });
  await services.ownership.present();
  const admitted = await services.log.admit(admission);
  if (admitted.outcome === 'replayed') return replayOf(services, request.principal, admitted);
  if (admitted.outcome !== 'admitted') throw refusal(admission, admitted);
  const { run } = admitted;
  services.runs.start(run.runId, (signals) => executeRun(services, { run, continues: false, ...signals }));
  return { runId: run.runId, sessionId: run.sessionId, replayed: false, sameBody: true };
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

interface Place {
  readonly harness: HarnessRecord;
  /** Null: the task begins a session. */
  readonly session: SessionRecord | null;
  readonly previousRunId: RunId | null;
}

/** Harness and session, by scope first: what is unknown and what is another's are not told apart (U-042). */
async function findPlace(services: Services, { principal, body, queued }: TaskRequest): Promise<Place> {
  const param = 'metadata.harness_id';
  if (queued !== undefined) return findQueuePlace(services, principal, queued.sessionId);
  const named =
    body.harnessId === null ? null : await findHarness(services, principal, { name: body.harnessId, param });
  if (body.previousResponseId === null) {
    const harness = named ?? (await defaultHarness(services, principal));
    if (harness === null) throw new NotFoundError('harness', param);
    return { harness, session: null, previousRunId: null };
  }
  const { session, previousRunId } = await findPrevious(services, principal, body.previousResponseId);
  if (named !== null && named.harnessId !== session.harnessId) throw new HarnessMismatchError();
  const harness = named ?? (await findHarness(services, principal, { name: session.harnessId, param }));
  if (session.runningRunId !== null) throw new SessionBusyError(session.sessionId, session.runningRunId);
  // Judged again inside the transaction; here so that the order of checks holds.
  const tip = await services.store.tip(session.sessionId);
  if (tip !== previousRunId) throw notTip(tip);
  return { harness, session, previousRunId };
}

async function findQueuePlace(services: Services, principal: string, name: SessionId): Promise<Place> {
  const session = await findLiveSession(services, principal, name);
  const harness = await findHarness(services, principal, { name: session.harnessId });
  return { harness, session, previousRunId: await services.store.tip(session.sessionId) };
}

/** The oldest harness of the base that the operator prefers (UD-34). */
async function defaultHarness({ store, harnesses }: Services, principal: string): Promise<HarnessRecord | null> {
  const records = await store.harnesses(principal);
  const preferred = harnesses.bases.flatMap((base) => records.filter((record) => record.base === base));
  return preferred[0] ?? records[0] ?? null;
}

async function findPrevious(
  services: Services,
  principal: string,
  name: string,
): Promise<{ session: SessionRecord; previousRunId: RunId }> {
  const param = 'previous_response_id';
  const { runId, sessionId } = await findContinuable(services, principal, { name, param });
  const session = await services.store.session(sessionId);
  if (session === null) throw new NotFoundError('response', param);
  if (session.expiredAtMs !== null) throw new SessionExpiredError(param);
  return { session, previousRunId: runId };
}

type ServedModel = Extract<ModelChoice, { available: true }>;

/** @throws ModelUnavailableError */
export async function chooseModel(
  { harnesses }: Services,
  body: TaskBody,
  harness: HarnessRecord,
): Promise<ServedModel> {
  const adapter = harnesses.adapter(harness.base);
  if (adapter === undefined) throw new ModelUnavailableError(`the harness base '${harness.base}' is not installed.`);
  const choice = await adapter.chooseModel(body.model ?? harness.defaultModel);
  if (!choice.available) throw new ModelUnavailableError(choice.why);
  return choice;
}

async function makeAdmission(
  services: Services,
  { principal, body, idempotency, ids, queued, child, cause = 'submit' }: TaskRequest,
  { harness, session, previousRunId, model }: Place & { readonly model: ServedModel },
): Promise<Admission> {
  const { clock, random, owner } = services;
  const atMs = clock.now();
  const runId = ids?.runId ?? runIds.make(random.token());
  const sessionId = session?.sessionId ?? ids?.sessionId ?? sessionIds.make(random.token());
  const task = {
    harnessId: harness.harnessId,
    createdAt: Math.floor(atMs / 1000),
    metadata: queued === undefined ? body.metadata : { ...body.metadata, reins_message_id: queued.messageId },
    ignoredFields: body.ignoredFields,
    store: body.store,
    background: body.background,
    previousResponseId: previousRunId,
    reinsEvents: body.reinsEvents,
    view: 1,
    inputItems: body.inputItems,
  } as const;
  const _config = {
    base: harness.base,
    systemPrompt: harness.systemPrompt ?? services.settings.systemPrompt,
    instructions: body.instructions,
    disabledTools: harness.disabledTools,
    permissions: permissionsOf(services, harness),
    planning: harness.planning ?? services.settings.planning,
  };
  const agent = services.harnesses.adapter(harness.base)?.agent;
  const config = agent?.config ?? _config;
  const data = {
    leg: 1,
    cause,
    ...(body.messages.length === 0 ? {} : { input: body.messages }),
    task,
    _config: child === undefined ? config : { ...config, permissions: child.permissions },
    ...(agent === undefined ? {} : { agent: agent.ref }),
    ...(child === undefined ? {} : { parent: child.parent }),
    ...(idempotency === null ? {} : { requestId: idempotency.key }),
    model: model.ref,
    limits: agent === undefined ? limitsOf(services, body, harness) : agent.limits(body.limits ?? {}),
  } as const;
  return {
    runId,
    sessionId,
    harnessId: harness.harnessId,
    principal,
    ...(session === null ? { newSession: { title: titleOf(body.messages) } } : {}),
    previousRunId,
    store: body.store,
    owner,
    ...(idempotency === null ? {} : { idempotency }),
    ...(queued === undefined ? {} : { queued }),
    ...(child === undefined ? {} : { parentRunId: child.parent.runId }),
    events: [{ v: 1, runId, sessionId, at: atMs, leg: 1, step: 0, attempt: 0, type: 'run-started', data }],
    atMs,
  };
}

/** @throws InvalidInputError */
export function refuseTimeout({ settings }: Services, { timeoutSeconds }: TaskBody): void {
  if (timeoutSeconds !== null && timeoutSeconds > settings.maxTimeoutSeconds)
    throw new InvalidInputError(`timeout_seconds may be at most ${settings.maxTimeoutSeconds}.`, 'timeout_seconds');
}

/** Request value, else the harness's, else the server's default (UD-09); a harness's is held to the server's maximum. */
function limitsOf({ settings }: Services, body: TaskBody, harness: HarnessRecord): Limits {
  const maxSeconds = body.timeoutSeconds ?? harness.timeoutSeconds ?? settings.timeoutSeconds;
  return {
    ...noBudgets,
    maxToolRounds: body.maxStep ?? harness.maxStep,
    maxOutputTokens: body.maxOutputTokens,
    maxSeconds: Math.min(maxSeconds, settings.maxTimeoutSeconds),
  };
}

/** What waits for a person is bounded, so that the task is (U-241). */
function permissionsOf({ settings }: Services, { permissions }: HarnessRecord): RunPermissions {
  const given = permissions ?? settings.permissions;
  return { ...given, expiresAfterSeconds: given.expiresAfterSeconds ?? settings.permissions.expiresAfterSeconds };
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

function notTip(tip: RunId | null): RequestError {
  return new RequestError({
    status: 409,
    errorType: 'invalid_request_error',
    code: 'reins_not_session_tip',
    message: 'The session has gone on since that response; continue its newest one.',
    param: 'previous_response_id',
    detail: { tip },
  });
}
