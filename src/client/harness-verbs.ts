import { followFeed, type FeedOptions } from './follow-feed.ts';
import { path } from './transport.ts';
import type { ClientParts } from './client-parts.ts';
import type { Deleted, VerbOptions } from './shapes.ts';
import type { HarnessModels } from '../protocol/uhp/models.ts';
import type { JsonObject } from '../core/json.ts';
import type { UhpHarness } from '../protocol/uhp/harness.ts';

export type HarnessVerbs = ReturnType<typeof harnessVerbs>;

export function harnessVerbs(parts: ClientParts) {
  const { json } = parts.transport;
  return {
    /** May be empty (U-102). */
    async list(options?: VerbOptions): Promise<readonly UhpHarness[]> {
      const body = await json<{ readonly harnesses: readonly UhpHarness[] }>({ path: '/v1/harnesses', ...options });
      return body.harnesses;
    },
    get: (id: string, options?: VerbOptions) => json<UhpHarness>({ path: path`/v1/harnesses/${id}`, ...options }),
    models: (id: string, options?: VerbOptions) =>
      json<HarnessModels>({ path: path`/v1/harnesses/${id}/models`, ...options }),
    /** `base` is required. Sent once: a second one would make a second harness. */
    create: (body: JsonObject, options?: VerbOptions) =>
      json<UhpHarness>({ method: 'POST', path: '/v1/harnesses', body, ...options }),
    /** Replaces all that can be changed; what was read may be sent back (U-126). */
    update: (id: string, body: JsonObject, options?: VerbOptions) =>
      json<UhpHarness>({ method: 'PUT', path: path`/v1/harnesses/${id}`, body, ...options }),
    delete: (id: string, options?: VerbOptions) =>
      json<Deleted>({ method: 'DELETE', path: path`/v1/harnesses/${id}`, ...options }),
    feed: (id: string, options?: FeedOptions) => followFeed(parts, id, options),
  };
}
