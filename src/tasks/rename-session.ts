import { findLiveSession, goneSession } from './find-in-scope.ts';
import { readSession } from './read-sessions.ts';
import type { Services } from './services.ts';
import type { UhpSession } from '../views/session-views.ts';

/** A title of a person's own, in place of what the session's first message says. @throws RequestError  404 */
export async function renameSession(
  services: Services,
  principal: string,
  { sessionId: name, title }: { readonly sessionId: string; readonly title: string },
): Promise<UhpSession> {
  const { sessionId } = await findLiveSession(services, principal, name);
  if (!(await services.store.renameSession(sessionId, title))) throw await goneSession(services, principal, name);
  return readSession(services, principal, name);
}
