// The console: its page and what that loads, which hold no data and are open, and signing in to it (C-062).

import { appendAudit } from '../../tasks/append-audit.ts';
import { createConsoleCookie, type ConsoleCookie } from '../console-cookie.ts';
import { NotFoundError } from '../../core/errors.ts';
import { oneHeader } from '../door.ts';
import { parseSignIn, toConsoleSession, type UhpConsoleSession } from '../../protocol/uhp/console-session.ts';
import { sendConsoleFile } from '../send-console-file.ts';
import { ticketRefused, type ConsoleSessions } from '../../auth/console-sessions.ts';
import type { ConsoleFiles } from '../console-files.ts';
import type { OpenCall, Route } from '../route.ts';
import type { Services } from '../../tasks/services.ts';

export interface ConsoleParts {
  readonly sessions: ConsoleSessions;
  readonly files: ConsoleFiles;
}

/** Addresses that the page gives to its own views; all are answered with the page, which reads its address. */
const pagePaths = ['/', '/s/:id'];

export function consoleRoutes(
  services: Services,
  { sessions, files, publicUrl }: ConsoleParts & { readonly publicUrl: string | undefined },
): readonly Route[] {
  const cookie = createConsoleCookie(sessions, publicUrl);
  const page = (call: OpenCall) => {
    const index = files.index();
    return index === null ? sayHowToBuild(call) : sendConsoleFile(call, index, 'ask');
  };
  const asset = (call: OpenCall) => {
    const file = files.asset(call.request.params['name'] ?? '');
    if (file === null) throw new NotFoundError('file');
    return sendConsoleFile(call, file, 'forever');
  };
  return [
    ...pagePaths.map((path): Route => ({ path, verbs: { GET: { open: true, handle: page } } })),
    { path: '/assets/:name', verbs: { GET: { open: true, handle: asset } } },
    {
      path: '/v1/reins/console/session',
      maxBodyBytes: 4_096,
      verbs: {
        GET: { open: true, handle: async ({ request }) => toConsoleSession(await cookie.callerOf(request)) },
        POST: { open: true, handle: (call) => signIn(services, { call, sessions, cookie }) },
        DELETE: { open: true, handle: (call) => signOut({ call, sessions, cookie }) },
      },
    },
  ];
}

interface SessionCall {
  readonly call: OpenCall;
  readonly sessions: ConsoleSessions;
  readonly cookie: ConsoleCookie;
}

/** The cookie is what it gives; a session that the browser had before ends with it. */
async function signIn(services: Services, { call, sessions, cookie }: SessionCall): Promise<UhpConsoleSession> {
  const { request } = call;
  cookie.requireOwnOrigin(request);
  const wanted = parseSignIn(request.body);
  if (wanted.by === 'ticket' && !isFromThisMachine(call)) throw ticketRefused();
  const { token, session } =
    wanted.by === 'key' ? await sessions.signInByKey(wanted.key) : await sessions.signInByTicket(wanted.ticket);
  const { principal, keyId } = session;
  await appendAudit(services, { principal, keyId, action: 'console.sign-in', object: keyId, requestId: request.id });
  await endSession({ call, sessions, cookie });
  cookie.set(call, token);
  return toConsoleSession(session);
}

async function signOut(of: SessionCall): Promise<UhpConsoleSession> {
  of.cookie.requireOwnOrigin(of.call.request);
  await endSession(of);
  of.cookie.set(of.call, null);
  return toConsoleSession(null);
}

async function endSession({ call, sessions, cookie }: SessionCall): Promise<void> {
  const token = cookie.tokenOf(call.request);
  if (token !== null) await sessions.signOut(token);
}

/** What a proxy passes on is from elsewhere, though the proxy is here. */
function isFromThisMachine({ request }: OpenCall): boolean {
  const { forwarded, 'x-forwarded-for': forwardedFor } = request.headers;
  const isPassedOn = oneHeader(forwarded) !== undefined || oneHeader(forwardedFor) !== undefined;
  return !isPassedOn && /^(?:(?:::ffff:)?127\.|::1$)/.test(request.socket.remoteAddress ?? '');
}

function sayHowToBuild({ reply }: OpenCall): unknown {
  const how =
    'The console page is not built. Run "npm run build:console" in the repository, then load this page again.\n';
  return reply.code(503).type('text/plain; charset=utf-8').send(how);
}
