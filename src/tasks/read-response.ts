import { beginningOf } from './beginning-of.ts';
import { foldLog } from './fold-log.ts';
import { NotFoundError, StorageError } from '../core/errors.ts';
import { findRun } from './find-in-scope.ts';
import { wholeItems } from './input-items.ts';
import type { RunId } from '../core/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts';
import type { RunRecord } from '../stores/store.ts';
import type { Services } from './services.ts';
import type { UhpResponse } from '../views/uhp-view.ts';

/** A response object as it stands: folded while the task runs, stored once it has ended. */
export type ResponseBody = UhpResponse | JsonObject;

export async function readResponse(services: Services, principal: string, responseId: string): Promise<ResponseBody> {
  return responseOf(services, await findRun(services, principal, responseId));
}

/** The response of a run that was found in scope. */
export async function responseOf(services: Services, run: RunRecord): Promise<ResponseBody> {
  const response = run.response ?? (await foldLog(services, run)).frames.response();
  if (!isPaused(run) || !isJsonObject(response.metadata)) return response;
  return { ...response, metadata: { ...response.metadata, reins_paused: true } };
}

/** It has been let come to rest, and does nothing until it is resumed (E-819). */
export function isPaused({ status, phase, control }: RunRecord): boolean {
  return status === 'running' && (phase === 'paused' || (phase === 'waiting' && control === 'pause'));
}

/** The response of an accepted task as it stands, also of one whose storing was declined: its caller holds the key (UD-07). */
export async function acceptedResponse(services: Services, runId: RunId): Promise<ResponseBody> {
  const run = await services.store.run(runId);
  if (run === null || run.deleted) throw new NotFoundError('response');
  return responseOf(services, run);
}

/** The input the task was created with, as items (U-211). */
export async function readInputItems(
  services: Services,
  principal: string,
  responseId: string,
): Promise<readonly JsonValue[]> {
  const run = await findRun(services, principal, responseId);
  const first = await beginningOf(services, run.runId);
  return wholeItems(services, first?.data.task?.inputItems ?? []);
}

/**
 * Waits for the task to end and gives its response; a response deleted meanwhile is still given to those who waited.
 * Rejects with the signal's reason when it aborts: the task goes on.
 */
export async function awaitResponse(services: Services, runId: RunId, signal: AbortSignal): Promise<ResponseBody> {
  const before = await services.store.run(runId);
  if (before?.status === 'running') {
    // Read to the end; nothing but the end is of interest.
    const events = services.log.follow(runId, { after: before.lastSeq, signal })[Symbol.asyncIterator]();
    while ((await events.next()).done !== true);
  }
  signal.throwIfAborted();
  const run = await services.store.run(runId);
  if (run === null || run.status === 'running') throw new StorageError('The task was left before it ended.');
  return responseOf(services, run);
}
