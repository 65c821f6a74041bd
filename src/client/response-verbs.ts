import { awaitResponse } from './await-response.ts';
import { path } from './transport.ts';
import { toResult, type Result } from './result.ts';
import type { ClientParts } from './client-parts.ts';
import type { Deleted, RunRequest, VerbOptions } from './shapes.ts';
import type { JsonObject } from '../core/json.ts';
import type { UhpResponse } from '../protocol/uhp/response.ts';

export type ResponseVerbs = ReturnType<typeof responseVerbs>;

export function responseVerbs(parts: ClientParts) {
  const { json } = parts.transport;
  return {
    /** Starts a task and does not wait for it; under the same key it is started once. */
    create: (request: RunRequest, { idempotencyKey, signal }: VerbOptions & { readonly idempotencyKey: string }) =>
      json<UhpResponse>({
        method: 'POST',
        path: '/v1/responses',
        body: { ...request, background: true },
        headers: { 'Idempotency-Key': idempotencyKey },
        repeatable: true,
        signal,
      }),
    /** As it stands. */
    get: (id: string, options?: VerbOptions) => json<UhpResponse>({ path: path`/v1/responses/${id}`, ...options }),
    /** A task that has ended is left as it is (U-361). */
    cancel: (id: string, options?: VerbOptions) =>
      json<UhpResponse>({ method: 'POST', path: path`/v1/responses/${id}/cancel`, repeatable: true, ...options }),
    /** What it has begun ends, then nothing more happens until it is resumed. An extension: servers without it answer 404. */
    pause: (id: string, options?: VerbOptions) =>
      json<UhpResponse>({ method: 'POST', path: path`/v1/reins/responses/${id}/pause`, repeatable: true, ...options }),
    /** A task that is at work, or has ended, is left as it is. */
    resume: (id: string, options?: VerbOptions) =>
      json<UhpResponse>({ method: 'POST', path: path`/v1/reins/responses/${id}/resume`, repeatable: true, ...options }),
    /** Takes it from sight; stops nothing (U-256). */
    delete: (id: string, options?: VerbOptions) =>
      json<Deleted>({ method: 'DELETE', path: path`/v1/responses/${id}`, ...options }),
    async inputItems(id: string, options?: VerbOptions): Promise<readonly JsonObject[]> {
      const call = { path: path`/v1/responses/${id}/input_items`, ...options };
      return (await json<{ readonly data: readonly JsonObject[] }>(call)).data;
    },
    /** Asks again and again until the task has ended; for its events, `attach`. */
    wait: async (id: string, { signal }: VerbOptions = {}): Promise<Result> =>
      toResult(await awaitResponse(parts, id, signal)),
  };
}
