import { createHash } from 'node:crypto';
import { sessionIds, type SessionId } from '../core/ids.ts';

/** The session of a name that a caller gave: an id as it is, any other text as the id that is made of it. */
export function sessionIdOf(name: string): SessionId {
  return sessionIds.parse(name) ?? sessionIds.make(createHash('sha256').update(name).digest('hex').slice(0, 32));
}
