import { findLiveSession, goneSession } from './find-in-scope.ts';
import { InvalidInputError, NotFoundError } from '../core/errors.ts';
import { sessionOf, turnsOf } from './read-sessions.ts';
import { shareIds } from '../core/ids.ts';
import { toShared, toSharedTurn, type SharedSession, type SharedTurn } from '../views/session-views.ts';
import type { Services } from './services.ts';
import type { ShareRecord } from '../stores/session-store.ts';

/** Publishes a session; the share that there is already is given again (UD-31). */
export async function shareSession(services: Services, principal: string, name: string): Promise<ShareRecord> {
  const { sessionId } = await findLiveSession(services, principal, name);
  const share = await services.store.putShare({
    shareId: shareIds.make(services.random.token()),
    sessionId,
    secret: Buffer.from(services.random.token() + services.random.token(), 'hex').toString('base64url'),
    createdAtMs: services.clock.now(),
  });
  if (share === null) throw await goneSession(services, principal, name);
  return share;
}

/** @throws NotFoundError  The session, or that it is shared. */
export async function readShare(services: Services, principal: string, name: string): Promise<ShareRecord> {
  const { sessionId } = await findLiveSession(services, principal, name);
  const share = await services.store.share(sessionId);
  if (share === null) throw new NotFoundError('share');
  return share;
}

/** Every link that was ever made for the session is dead (U-384); gives the last one. @throws NotFoundError */
export async function revokeShare(services: Services, principal: string, name: string): Promise<ShareRecord> {
  const share = await readShare(services, principal, name);
  await services.store.revokeShare(share.sessionId);
  return share;
}

/** Of one page: whoever has a link may ask as often as they like, and costs no more than this. */
const mostShown = { turns: 50, units: 1_048_576 };

/**
 * What a link shows, a page at a time.
 * @throws RequestError  404: it is dead, or never was; 400: the cursor is none of it.
 */
export async function readShared(services: Services, secret: string, cursor: string | null): Promise<SharedSession> {
  const share = await services.store.shareBySecret(secret);
  const session = share === null ? null : await services.store.session(share.sessionId);
  if (session === null || session.expiredAtMs !== null) throw new NotFoundError('share');
  if (cursor !== null && !/^\d{1,9}$/.test(cursor))
    throw new InvalidInputError('This cursor is none that this page gave.', 'cursor');
  const turns: SharedTurn[] = [];
  let [last, units, next]: [number, number, string | null] = [0, 0, null];
  const page = { after: Number(cursor ?? 0), limit: mostShown.turns + 1 };
  for await (const { turn, item } of turnsOf(services, session, page)) {
    const shown = toSharedTurn(item);
    units += JSON.stringify(shown).length;
    if (turns.length === mostShown.turns || (turns.length > 0 && units > mostShown.units)) {
      next = String(last);
      break;
    }
    turns.push(shown);
    last = turn;
  }
  return toShared(await sessionOf(services, session), turns, next);
}
