// Where a chat is kept: its name is the client's own, and each principal has names of its own. It is a session like any other,
// whose id follows from the name. A turn that is taken back goes on in another session, the next of the same name; of
// those the newest counts. So nothing has to be stored that says which chat is where.

import { createHash } from 'node:crypto';
import { findLiveSession } from './find-in-scope.ts';
import { NotFoundError } from '../core/errors.ts';
import { sessionIds, type SessionId } from '../core/ids.ts';
import type { RunRecord, SessionRecord } from '../stores/store.ts';
import type { Services } from './services.ts';

export interface Chat {
  /** Null: nothing was said in it, or it is deleted or expired. */
  readonly session: SessionRecord | null;
  /** Of the session that it would go on in. */
  readonly next: SessionId;
}

/** @param name  The client's own, or the id of a session. @throws RequestError  There is no such session. */
export async function findChat(services: Services, principal: string, name: string): Promise<Chat> {
  const { store } = services;
  const isSession = sessionIds.parse(name) !== undefined;
  let session = isSession ? await findLiveSession(services, principal, name) : null;
  for (let count = isSession ? 1 : 0; ; count++) {
    const next = sessionOf(principal, name, count);
    const found = await store.session(next);
    if (found === null && !(await store.isSessionDeleted(next))) return { session, next };
    session = found?.expiredAtMs === null ? found : null;
  }
}

/** @throws NotFoundError */
export async function findBegunChat(services: Services, principal: string, name: string): Promise<SessionRecord> {
  const { session } = await findChat(services, principal, name);
  if (session === null) throw new NotFoundError('session');
  return session;
}

export function sessionOf(principal: string, name: string, count: number): SessionId {
  const hash = createHash('sha256')
    .update(JSON.stringify([principal, name, count]))
    .digest('base64url');
  return sessionIds.make(hash.slice(0, 32));
}

/** Its turns, oldest first: those of the sessions that it went on from, up to where it did, included. */
export async function turnsOfChat(services: Services, session: SessionRecord): Promise<readonly RunRecord[]> {
  const { store } = services;
  const turns: RunRecord[] = [];
  for (const runId of await store.responsesOfSession(session.sessionId)) {
    const run = await store.run(runId);
    if (run !== null && !run.deleted) turns.push(run);
  }
  const source = session.forkedFrom === null ? null : await store.run(session.forkedFrom);
  const before = source === null ? null : await store.session(source.sessionId);
  if (source === null || before === null || before.principal !== session.principal) return turns;
  const earlier = await turnsOfChat(services, before);
  return [...earlier.filter((run) => run.sessionId !== source.sessionId || run.turn <= source.turn), ...turns];
}
