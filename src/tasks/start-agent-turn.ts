// A turn of `POST /api/agent`: a task of its own session that works in its principal's folder, and ends with the call that
// waits for it. What can be refused is refused here, in the order of A-010, rows 10 and 12 to 16, with nothing begun.

import { acceptTask } from './accept-task.ts';
import { chooseModel, ModelNotAllowedError } from './choose-model.ts';
import { harnessesInOrder } from './find-place.ts';
import { effortByName } from '../core/reasoning-effort.ts';
import { ModelUnavailableError, RequestError } from '../core/errors.ts';
import { plainTask } from './task-body.ts';
import type { AgentTurns, Services } from './services.ts';
import type { HarnessRecord } from '../stores/harness-record.ts';
import type { ModelRef } from '../core/outcome.ts';
import type { RunId } from '../core/ids.ts';

export interface AgentTurnRequest {
  readonly prompt: string;
  readonly modelId: string | null;
  /** Normalised; null: the default. */
  readonly cwd: string | null;
}

export interface AgentTurn {
  readonly runId: RunId;
  readonly principal: string;
  /** Null: it has no folder. */
  readonly cwd: string | null;
  /** What no answer of it may hold. */
  readonly secrets: readonly string[];
}

/** @throws RequestError  `message` as this path says it. */
export async function startAgentTurn(
  services: Services,
  principal: string,
  { prompt, modelId, cwd: asked }: AgentTurnRequest,
): Promise<AgentTurn> {
  const turns = services.agentTurns;
  if (turns === undefined) throw refused(503, 'No model is available.');
  const cwd = asked ?? turns.defaultCwd;
  const fault = turns.hasFolder(principal) ? await turns.folders.faultOf(principal, cwd) : null;
  if (fault !== null) throw refused(400, `Invalid cwd: ${fault}`);
  const { harness, ref } = await chooseHarness(services, principal, modelId);
  const place = placeOf(turns, principal, harness);
  const accepted = await acceptTask(services, {
    principal,
    body: {
      ...plainTask,
      messages: [{ content: [{ type: 'text', text: prompt }] }],
      inputItems: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] }],
      model: modelId,
      harnessId: harness.harnessId,
    },
    idempotency: null,
    attached: {
      ...place,
      ...(place.attached.workspace === 'principal' && cwd !== '.' ? { directory: cwd } : {}),
      ...reasoningFor(turns, ref),
    },
  }).catch((cause: unknown) => refuseFull(services, cause));
  return {
    runId: accepted.runId,
    principal,
    cwd: place.attached.workspace === 'principal' ? cwd : null,
    secrets: [...turns.secrets, ...secretsOfHarness(harness)],
  };
}

/** The first of its harnesses that serves the model; a turn that names no model has the default harness and its model. */
async function chooseHarness(
  services: Services,
  principal: string,
  modelId: string | null,
): Promise<{ readonly harness: HarnessRecord; readonly ref: ModelRef }> {
  const harnesses = await harnessesInOrder(services, principal);
  const refusals: ModelUnavailableError[] = [];
  for (const harness of modelId === null ? harnesses.slice(0, 1) : harnesses)
    try {
      const { ref } = await chooseModel(services, { principal, body: { model: modelId } }, harness);
      return { harness, ref };
    } catch (cause) {
      if (!(cause instanceof ModelUnavailableError)) throw cause;
      refusals.push(cause);
    }
  throw await modelRefusal(services, { harnesses, modelId, refusals });
}

/** Rows 12 to 14, in their order: a model that nobody knows, that the caller may not use, that nobody can serve now. */
async function modelRefusal(
  services: Services,
  o: {
    readonly harnesses: readonly HarnessRecord[];
    readonly modelId: string | null;
    readonly refusals: readonly ModelUnavailableError[];
  },
): Promise<RequestError> {
  const [cause] = o.refusals;
  const notAllowed = o.refusals.find((each) => each instanceof ModelNotAllowedError)?.model;
  if (o.modelId !== null && !(await isKnown(services, o.harnesses, o.modelId)))
    return refused(400, `Unknown model: ${o.modelId}`, cause);
  if (notAllowed !== undefined) return refused(403, `Model not allowed: ${o.modelId ?? notAllowed}`, cause);
  return refused(503, 'No model is available.', cause);
}

async function isKnown(services: Services, harnesses: readonly HarnessRecord[], modelId: string): Promise<boolean> {
  for (const { base } of harnesses) {
    const adapter = services.harnesses.adapter(base);
    const choice = await adapter?.chooseModel(modelId);
    if (adapter === undefined || choice === undefined) continue;
    if (choice.available || (await adapter.probe()).models.some(({ id }) => id === choice.id)) return true;
  }
  return false;
}

const folderTools = ['bash', 'read_file', 'write_file', 'edit_file', 'list_files', 'glob', 'grep'];

/** Row 15, A-013: without a folder the turn goes on without the tools that need one, where others are there. */
function placeOf(turns: AgentTurns, principal: string, harness: HarnessRecord) {
  if (turns.hasFolder(principal)) return { attached: { workspace: 'principal' }, withoutTools: [] } as const;
  const others = turns.hasOtherTools || harness.setup.mcpServers.some(({ enabled }) => enabled) || fetches(harness);
  // The tools of other runtimes are not ours to take away.
  if (harness.base !== 'native' || !others) throw refused(403, 'No usable sandbox and no other tools.');
  return { attached: { workspace: 'none' }, withoutTools: folderTools } as const;
}

function fetches({ disabledTools }: HarnessRecord): boolean {
  return !disabledTools.includes('fetch_url');
}

function reasoningFor({ reasoning }: AgentTurns, { model }: ModelRef) {
  const effort = reasoning ?? effortByName(model);
  return effort === undefined ? {} : { reasoning: effort };
}

/** Row 16: whatever there is no room in. A server that closes says so itself. */
function refuseFull({ runs }: Services, cause: unknown): never {
  const isFull = cause instanceof RequestError && cause.headers['Retry-After'] !== undefined && !runs.isDraining;
  throw isFull ? refused(429, 'Too many runs.', cause) : cause;
}

function secretsOfHarness({ setup }: HarnessRecord): readonly string[] {
  return setup.mcpServers.flatMap(({ headers, auth }) => [
    ...Object.values(headers).map(({ value }) => value),
    ...(auth === null ? [] : [auth.value, auth.value.replace(/^[A-Za-z]+ +/, '')]),
  ]);
}

function refused(status: number, message: string, cause?: unknown): RequestError {
  const headers = cause instanceof RequestError ? cause.headers : {};
  const errorType = status >= 500 ? 'server_error' : 'invalid_request_error';
  return new RequestError({ status, errorType, code: 'invalid_input', message, headers, cause });
}
