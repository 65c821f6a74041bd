import { path } from './transport.ts';
import type { ClientParts } from './client-parts.ts';
import type { Deleted, Page, VerbOptions } from './shapes.ts';
import type { SessionShare, TurnItem, UhpSession } from '../protocol/uhp/session.ts';
import type { UhpFile } from '../protocol/uhp/file.ts';

export type SessionVerbs = ReturnType<typeof sessionVerbs>;

export interface SessionQuery extends Page {
  /** Id of the harness. */
  readonly harness?: string;
}

export interface SessionPage {
  readonly sessions: readonly UhpSession[];
  /** Null: this is the last page. */
  readonly next_cursor: string | null;
}

export function sessionVerbs({ transport: { json, open } }: ClientParts) {
  const list = (query: SessionQuery = {}, options?: VerbOptions) =>
    json<SessionPage>({ path: '/v1/sessions', query: { ...query }, ...options });
  return {
    list,
    /** Every one of them, page by page. */
    async *all(query: SessionQuery = {}, options?: VerbOptions): AsyncGenerator<UhpSession, void> {
      for (let cursor = query.cursor; ;) {
        const page = await list(cursor === undefined ? query : { ...query, cursor }, options);
        yield* page.sessions;
        if (page.next_cursor === null || page.next_cursor === undefined) return;
        cursor = page.next_cursor;
      }
    },
    get: (id: string, options?: VerbOptions) => json<UhpSession>({ path: path`/v1/sessions/${id}`, ...options }),
    /** Oldest first. */
    async turns(id: string, options?: VerbOptions): Promise<readonly TurnItem[]> {
      return (await json<{ readonly turns: readonly TurnItem[] }>({ path: path`/v1/sessions/${id}/turns`, ...options }))
        .turns;
    },
    /** Stops whatever runs in it. */
    cancel: (id: string, options?: VerbOptions) =>
      json<{ readonly id: string; readonly status: string }>({
        method: 'POST',
        path: path`/v1/sessions/${id}/cancel`,
        repeatable: true,
        ...options,
      }),
    /** A title of your own, in place of what its first message says. An extension: servers without it answer 404. */
    rename: (id: string, title: string, options?: VerbOptions) =>
      json<UhpSession>({ method: 'PATCH', path: path`/v1/reins/sessions/${id}`, body: { title }, ...options }),
    /** With all that it holds; what runs in it is stopped first (U-370). */
    delete: (id: string, options?: VerbOptions) =>
      json<Deleted>({ method: 'DELETE', path: path`/v1/sessions/${id}`, ...options }),
    /** What its tasks have made. */
    async files(id: string, options?: VerbOptions): Promise<readonly UhpFile[]> {
      return (await json<{ readonly files: readonly UhpFile[] }>({ path: path`/v1/sessions/${id}/files`, ...options }))
        .files;
    },
    /** All of them as one zip; read its body as any answer's. */
    archive: (id: string, options?: VerbOptions) => open({ path: path`/v1/sessions/${id}/files/archive`, ...options }),
    /** Publishes it; once it is, the same link again. */
    share: (id: string, options?: VerbOptions) =>
      json<SessionShare>({ method: 'POST', path: path`/v1/sessions/${id}/share`, repeatable: true, ...options }),
    getShare: (id: string, options?: VerbOptions) =>
      json<SessionShare>({ path: path`/v1/sessions/${id}/share`, ...options }),
    /** Every link that was ever given out is dead then (U-384). */
    unshare: (id: string, options?: VerbOptions) =>
      json<SessionShare>({ method: 'DELETE', path: path`/v1/sessions/${id}/share`, ...options }),
  };
}
