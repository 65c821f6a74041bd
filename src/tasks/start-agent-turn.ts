// A turn of `POST /api/agent`: a task of its own session that works in its principal's folder, and ends with the call that
// waits for it. What can be refused is refused here, in the order of A-010, rows 10 and 12 to 16, with nothing begun.

import { acceptTask } from './accept-task.ts';
import { chooseModel } from './choose-model.ts';
import { defaultHarness } from './find-place.ts';
import { effortByName } from '../core/reasoning-effort.ts';
import { ModelUnavailableError, RequestError } from '../core/errors.ts';
import { plainTask } from './task-body.ts';
import type { AgentTurns, Services } from './services.ts';
import type { HarnessAdapter } from '../harnesses/harness.ts';
import type { HarnessRecord } from '../stores/store.ts';
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
  const harness = await defaultHarness(services, principal);
  const adapter = services.harnesses.adapter(harness?.base ?? '');
  if (harness === null || adapter === undefined) throw refused(503, 'No model is available.');
  const body = { ...plainTask, messages: [{ content: [{ type: 'text', text: prompt }] }], model: modelId } as const;
  const { ref } = await chooseModel(services, body, harness).catch((cause: unknown) =>
    refuseModel(adapter, modelId, cause),
  );
  const place = placeOf(turns, principal, harness);
  const accepted = await acceptTask(services, {
    principal,
    body: { ...body, harnessId: harness.harnessId },
    idempotency: null,
    attached: {
      ...place,
      ...(place.attached.workspace === 'principal' && cwd !== '.' ? { directory: cwd } : {}),
      ...reasoningFor(turns, ref),
    },
  }).catch((cause: unknown) => refuseFull(services, cause));
  return {
    runId: accepted.runId,
    cwd: place.attached.workspace === 'principal' ? cwd : null,
    secrets: [...turns.secrets, ...secretsOfHarness(harness)],
  };
}

/** Rows 12 and 14: a model that nobody knows is the caller's fault, one that nobody can serve now is not. */
async function refuseModel(adapter: HarnessAdapter, modelId: string | null, cause: unknown): Promise<never> {
  if (!(cause instanceof ModelUnavailableError)) throw cause;
  const known = modelId === null || (await adapter.probe()).models.some(({ id }) => id === modelId);
  throw known ? refused(503, 'No model is available.', cause) : refused(400, `Unknown model: ${modelId}`, cause);
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
