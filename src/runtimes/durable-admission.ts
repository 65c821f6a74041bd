// How runs of a program come to be stored (E-050).
//
// N1. One key, one run, whoever submits it and how often at once; another input under it is refused.
// N2. A run of a session goes on from whatever that has come to, or is refused because another one is at work in it (E-023).

import { beginningOf } from '../tasks/beginning-of.ts';
import { acceptTask, type Accepted, type ChildOf } from '../tasks/accept-task.ts';
import { plainTask } from '../tasks/task-body.ts';
import { agentBase } from './agent-adapter.ts';
import { canonicalJson, toJsonValue, type JsonObject } from '../core/json.ts';
import { ConfigurationError, IdempotencyConflictError, RequestError, RuntimeStateError } from '../core/errors.ts';
import { createHash } from 'node:crypto';
import { ensureHarness } from '../tasks/ensure-harness.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { AssembledAgent } from './assembled-agent.ts';
import type { FollowUp } from '../tasks/queue-task.ts';
import type { RunEventOf, UserMessage, UserPart } from '../core/run-event.ts';
import type { Limits } from '../core/run-config.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from '../tasks/services.ts';

/** All runs of a runtime belong to the program that holds it. */
export const libraryPrincipal = 'library';

export interface DurableRunOptions {
  /** Name of the agent; absent: the only one. @throws ConfigurationError  There is none of that name, or several. */
  readonly agent?: string;
  /** The conversation to go on with, under a name of the caller's; absent: one of its own. */
  readonly sessionId?: string;
  /**
   * The same id with the same input is the same run, however often it is submitted (E-050). Absent: each is a new one.
   * @throws IdempotencyConflictError  It was used with another input.
   */
  readonly requestId?: string;
  /** Aborting cancels the run (E-040), from this process alone. Absent: only `cancel` does. */
  readonly signal?: AbortSignal;
  /** The caller's own keys, kept with the run. Absent: none. */
  readonly metadata?: JsonObject;
  /** In place of the agent's own. */
  readonly model?: string;
  /** Those that are named, over the agent's own. */
  readonly limits?: Partial<Limits>;
}

export interface RunPlace {
  readonly runId: RunId;
  readonly sessionId: SessionId;
}

export type Agents = ReadonlyMap<string, AssembledAgent>;

interface AdmitOptions extends DurableRunOptions {
  readonly messages: readonly UserMessage[];
  /** The failed run that this one does again; absent: it says something new. */
  readonly retryOf?: RunId;
}

/** @throws ConfigurationError, SessionBusyError, IdempotencyConflictError, RuntimeStateError */
export async function admitRun(
  services: Services,
  agents: Agents,
  { place, ...options }: AdmitOptions & { readonly place: RunPlace },
): Promise<Accepted> {
  const { messages, requestId, sessionId: name, model = null, metadata = {}, limits = {}, retryOf } = options;
  const { ref } = agentNamed(agents, options.agent);
  const harnessId = await ensureHarness(services, libraryPrincipal, agentBase(ref.name));
  const session = name === undefined ? null : place.sessionId;
  if (session !== null && name === session) await requireSession(services, session);
  const body = { ...libraryTask, messages, harnessId, model, metadata, limits };
  const request = {
    principal: libraryPrincipal,
    idempotency: requestId === undefined ? null : { key: requestId, bodyHash: hashOf({ ...body, session }) },
    ids: place,
    cause: retryOf === undefined ? 'submit' : 'retry',
  } as const;
  for (;;) {
    const tip = retryOf ?? (session === null ? null : await services.store.tip(session));
    try {
      const accepted = await acceptTask(services, { ...request, body: { ...body, previousResponseId: tip } });
      if (!accepted.sameBody) throw new IdempotencyConflictError('requestId');
      return accepted;
    } catch (cause) {
      // The session has gone on in this moment (N2); what was to be done again is not its newest any more.
      const overtaken = cause instanceof RequestError && cause.code === 'reins_not_session_tip';
      if (!overtaken || retryOf !== undefined) throw cause;
    }
  }
}

function agentNamed(agents: Agents, name: string | undefined): AssembledAgent {
  const agent = name === undefined ? [...agents.values()][0] : agents.get(name);
  if (agent !== undefined && (name !== undefined || agents.size === 1)) return agent;
  throw new ConfigurationError(`Name the agent; this runtime has: ${[...agents.keys()].join(', ')}.`);
}

/** An id is given by a runtime alone: one that is not here would go on with nothing, and nobody would notice. */
async function requireSession({ store }: Services, sessionId: SessionId): Promise<void> {
  const tip = await store.tip(sessionId);
  if (tip === null || (await store.run(tip))?.parentRunId !== null)
    throw new RuntimeStateError('This session is not here, or not any more.');
}

/** The same again, as far as the agent is the same: what was asked of another one is not known any more (E-052). */
export async function admitRetry(
  services: Services,
  agents: Agents,
  { failed, place }: { readonly failed: RunRecord; readonly place: RunPlace },
): Promise<Accepted> {
  const { agent: ref, model, limits, task } = (await firstEvent(services, failed.runId)).data;
  const agent = agentNamed(agents, ref?.name ?? '');
  const own = agent.chooseModel(undefined);
  const isOwn = own.provider === model.provider && own.model === model.model;
  const asked = { limits, ...(isOwn ? {} : { model: `${model.provider}/${model.model}` }) };
  return admitRun(services, agents, {
    agent: agent.ref.name,
    sessionId: failed.sessionId,
    metadata: task?.metadata ?? {},
    ...(ref?.digest === agent.ref.digest ? asked : {}),
    messages: [],
    retryOf: failed.runId,
    place,
  });
}

export interface ChildAdmission extends RunPlace, ChildOf {
  readonly task: string;
  /** Of the sub-agent. */
  readonly base: string;
}

export async function admitChild(
  services: Services,
  { runId, sessionId, task, base, ...child }: ChildAdmission,
): Promise<void> {
  const harnessId = await ensureHarness(services, libraryPrincipal, base);
  const messages = [{ content: [{ type: 'text', text: task }] }] as const;
  const body = { ...libraryTask, messages, harnessId };
  const ids = { runId, sessionId };
  await acceptTask(services, { principal: libraryPrincipal, body, idempotency: null, ids, child });
}

/** A run of its own, behind what the session of this run works on (E-664). */
export function followUpOf(
  { sessionId, harnessId }: RunRecord,
  { content, messageId }: { readonly content: readonly UserPart[]; readonly messageId: string | null },
): FollowUp {
  const body = { ...libraryTask, messages: [{ content }], harnessId };
  return { sessionId, body, bodyHash: hashOf(body), messageId };
}

export async function firstEvent(services: Services, runId: RunId): Promise<RunEventOf<'run-started'>> {
  const first = await beginningOf(services, runId);
  if (first === null) throw new RuntimeStateError('The log of this run has no beginning.');
  return first;
}

const libraryTask = { ...plainTask, background: true, reinsEvents: true };

/** What makes two requests the same: everything but the place that the conversation has come to. */
function hashOf(asked: object): string {
  return createHash('sha256')
    .update(canonicalJson(toJsonValue(asked)))
    .digest('hex');
}
