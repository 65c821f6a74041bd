// Sessions over HTTP: U-075 to U-078, U-085, U-086.

import { cancelSession } from '../../tasks/cancel-task.ts';
import { decodeCursor, encodeCursor, parseRename } from '../../protocol/uhp/session.ts';
import { deleteSession } from '../../tasks/delete-session.ts';
import { idOf, type Call, type Route, type Verb } from '../route.ts';
import { listSessions, readSession, readTurns } from '../../tasks/read-sessions.ts';
import { pageOf, queryOf } from '../request-fields.ts';
import { renameSession } from '../../tasks/rename-session.ts';
import type { Services } from '../../tasks/services.ts';

export function sessionRoutes(services: Services): readonly Route[] {
  const removal: Verb = {
    scope: 'tasks',
    audit: 'session.delete',
    async handle(call) {
      await deleteSession(services, call.caller.principal, idOf(call));
      return { id: idOf(call), deleted: true };
    },
  };
  return [
    { path: '/v1/sessions', verbs: { GET: { scope: 'read', handle: (call) => list(services, call) } } },
    {
      path: '/v1/sessions/:id',
      verbs: {
        GET: { scope: 'read', handle: (call) => readSession(services, call.caller.principal, idOf(call)) },
        DELETE: removal,
      },
    },
    {
      path: '/v1/reins/sessions/:id',
      verbs: {
        PATCH: {
          scope: 'tasks',
          handle: (call) =>
            renameSession(services, call.caller.principal, {
              sessionId: idOf(call),
              title: parseRename(call.request.body),
            }),
        },
      },
    },
    // The older name of the same (U-086).
    { path: '/v1/traces/:id', verbs: { DELETE: removal } },
    {
      path: '/v1/sessions/:id/turns',
      verbs: {
        GET: {
          scope: 'read',
          handle: (call) => readTurns(services, call.caller.principal, idOf(call)),
        },
      },
    },
    {
      path: '/v1/sessions/:id/cancel',
      verbs: {
        POST: { scope: 'tasks', handle: (call) => cancelSession(services, call.caller.principal, idOf(call)) },
      },
    },
  ];
}

async function list(services: Services, call: Call): Promise<unknown> {
  const { limit, cursor } = pageOf(call);
  const after = cursor === null ? null : decodeCursor(cursor);
  const harness = queryOf(call, 'harness') ?? null;
  const { sessions, last } = await listSessions(services, call.caller.principal, { harness, after, limit });
  return { sessions, next_cursor: last === null ? null : encodeCursor(last) };
}
