import { path } from './transport.ts';
import { pause } from './settle-within.ts';
import type { ClientParts } from './client-parts.ts';
import type { UhpResponse } from '../protocol/uhp/response.ts';

const firstWaitMs = 500;
const longestWaitMs = 5_000;

/** Asks until the task has ended. @throws the signal's reason */
export async function awaitResponse(parts: ClientParts, id: string, signal?: AbortSignal): Promise<UhpResponse> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(longestWaitMs, waitMs * 1.5)) {
    const response = await parts.transport.json<UhpResponse>({ path: path`/v1/responses/${id}`, signal });
    if (response.status !== 'in_progress') return response;
    await pause(parts.clock, waitMs, signal);
    signal?.throwIfAborted();
  }
}
