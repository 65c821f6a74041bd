// The door: what each request passes before its body is read, in the order of UD-67. Secure by default: a path is open only
// where its route says so, however it was spelled.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { authenticate, requireScope, type Caller, type KeyStore } from '../auth/authenticate.ts';
import { AgentRefusal } from '../protocol/agent/agent-refusal.ts';
import { RequestError } from '../core/errors.ts';
import { negotiateVersion } from '../protocol/uhp/versions.ts';
import type { Route, Verb } from './route.ts';

/** What lets a request in: a key, or in its place the cookie of a browser that is signed in. */
export interface Credentials extends KeyStore {
  /** Null: the request has no such cookie. Absent: no cookie is a credential. @throws RequestError  It came from elsewhere. */
  byCookie?(request: FastifyRequest): Promise<Caller | null>;
}

/** Version, credential, route, method, scope. @throws RequestError  The first that fails. */
export async function admit(keys: Credentials, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { route } = request.routeOptions.config;
  if (route === undefined || request.is404) {
    await identify(keys, request, { reply, open: isOpenPath(request.url) });
    throw routeNotFound();
  }
  const verb = verbOf(route, request.method);
  if (route.dialect === 'agent') {
    if (verb === undefined) throw methodNotAllowed(route);
    request.caller = await callerOf(keys, request);
    requireJson(oneHeader(request.headers['content-type']));
  } else {
    await identify(keys, request, { reply, open: Object.values(route.verbs).some(({ open }) => open === true) });
    if (verb === undefined) throw methodNotAllowed(route);
  }
  if (request.caller !== null && verb.open !== true) requireScope(request.caller, verb.scope);
}

/** Known before the body is read; one that is announced as nothing is taken for JSON. @throws AgentRefusal */
function requireJson(contentType: string | undefined): void {
  if (contentType === undefined || /^\s*(?:application|text)\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)) return;
  throw new AgentRefusal(415, 'Send application/json.');
}

/** Version, then credential (U-023). The version header is replaced on the raw answer, so that streams carry it, too. */
export async function identify(
  keys: Credentials,
  request: FastifyRequest,
  { reply, open }: { readonly reply: FastifyReply; readonly open: boolean },
): Promise<void> {
  reply.raw.setHeader('UHP-Version', negotiateVersion(oneHeader(request.headers['uhp-version'])));
  if (!open) request.caller = await callerOf(keys, request);
}

/** A key that is sent counts, whatever cookie a browser adds. */
async function callerOf(keys: Credentials, request: FastifyRequest): Promise<Caller> {
  const { authorization } = request.headers;
  const signedIn = authorization === undefined ? await keys.byCookie?.(request) : null;
  return signedIn ?? authenticate(keys, authorization);
}

/** For paths that no route has: below these roots nothing is told without a credential (UD-64). */
export function isOpenPath(url: string): boolean {
  return !/^(?:https?:\/\/[^/]*)?\/(?:v1|api)(?=[/?]|$)(?!\/shared\/)/i.test(url);
}

export function verbOf(route: Route, method: string): Verb | undefined {
  if (method === 'GET' || method === 'HEAD') return route.verbs.GET;
  const writes = ['POST', 'PUT', 'PATCH', 'DELETE'] as const;
  const write = writes.find((each) => each === method);
  return write === undefined ? undefined : route.verbs[write];
}

/** A header that came twice is joined by Node, or an array: neither is a value that anything here accepts. */
export function oneHeader(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value;
}

function routeNotFound(): RequestError {
  return new RequestError({
    status: 404,
    errorType: 'invalid_request_error',
    code: 'reins_route_not_found',
    message: 'There is nothing at this path.',
  });
}

function methodNotAllowed({ verbs }: Route): RequestError {
  const allow = Object.keys(verbs).flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  return new RequestError({
    status: 405,
    errorType: 'invalid_request_error',
    code: 'reins_method_not_allowed',
    message: `This path answers ${allow.join(', ')} only.`,
    headers: { Allow: allow.join(', ') },
  });
}
