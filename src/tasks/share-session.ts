import { findLiveSession } from './find-in-scope.ts';
import { NotFoundError } from '../core/errors.ts';
import { sessionOf, turnsOf } from './read-sessions.ts';
import { shareIds } from '../core/ids.ts';
import { toShared, type SharedSession } from '../views/session-views.ts';
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
  if (share === null) throw new NotFoundError('session');
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

/** What a link shows. @throws NotFoundError  It is dead, or never was. */
export async function readShared(services: Services, secret: string): Promise<SharedSession> {
  const share = await services.store.shareBySecret(secret);
  const session = share === null ? null : await services.store.session(share.sessionId);
  if (session === null || session.expiredAtMs !== null) throw new NotFoundError('share');
  return toShared(await sessionOf(services, session), await turnsOf(services, session));
}
