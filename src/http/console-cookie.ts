// What a browser that is signed in to the console page sends in place of a key (C-062).
//
// K1. The cookie is out of reach of scripts (`HttpOnly`) and of other sites (`SameSite=Strict`), and `Secure` where the page
//     came over TLS.
// K2. A write with the cookie comes from a page of this origin, or is refused: browsers name the origin of each write, and no
//     page can name another's. Reading needs no such proof, as no answer to a cookie can be read from another origin (O1).
// K3. Browsers send the cookies of one host to all its ports. Two servers of one machine must not sign each other's users out,
//     so the name of the cookie holds the port.
// K4. Pages of sibling domains can set cookies for this host, too. Over TLS the name begins with `__Host-`, which browsers let
//     nobody else set; two of one name are none, as the one in front may be planted.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { oneHeader } from './door.ts';
import { RequestError } from '../core/errors.ts';
import { sessionSeconds, type ConsoleSession, type ConsoleSessions } from '../auth/console-sessions.ts';

type Asked = Pick<FastifyRequest, 'headers' | 'method' | 'protocol'>;

export interface ConsoleCookie {
  /** Null: no cookie, or one that is good for nothing. @throws RequestError  403: a write from elsewhere (K2). */
  readonly callerOf: (request: Asked) => Promise<ConsoleSession | null>;
  tokenOf(request: Asked): string | null;
  /** Null takes it away. */
  set(call: { readonly request: Asked; readonly reply: Pick<FastifyReply, 'header'> }, token: string | null): void;
  /** @throws RequestError  403 `reins_foreign_origin`. */
  requireOwnOrigin(request: Asked): void;
}

/** @param publicUrl  By what the server is known where a proxy calls it by another name. */
export function createConsoleCookie(
  sessions: Pick<ConsoleSessions, 'find'>,
  publicUrl: string | undefined,
): ConsoleCookie {
  const publicOrigin = URL.parse(publicUrl ?? '')?.origin;
  const requireOwnOrigin = (request: Asked) => {
    if (!isOwnOrigin(request, publicOrigin)) throw foreignOrigin();
  };
  const tokenOf = (request: Asked) => {
    const { cookie, host } = request.headers;
    const names = isSecure(request, publicOrigin) ? [secureName(host)] : [secureName(host), cookieName(host)];
    return names.map((name) => readCookie(oneHeader(cookie), name)).find((token) => token !== null) ?? null;
  };
  return {
    tokenOf,
    requireOwnOrigin,
    async callerOf(request) {
      const token = tokenOf(request);
      if (token === null) return null;
      if (request.method !== 'GET' && request.method !== 'HEAD') requireOwnOrigin(request);
      return sessions.find(token);
    },
    set({ request, reply }, token) {
      const { host } = request.headers;
      const [name, secure] = isSecure(request, publicOrigin) ? [secureName(host), '; Secure'] : [cookieName(host), ''];
      const life = token === null ? 0 : sessionSeconds;
      reply.header('Set-Cookie', `${name}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${life}${secure}`);
    },
  };
}

/** A proxy may end TLS in front of this server, so the page's own scheme may be the safer one, never the other way round. */
export function isOwnOrigin({ headers, protocol }: Asked, publicOrigin: string | undefined): boolean {
  const { origin, host } = headers;
  if (origin === undefined || host === undefined) return false;
  if (origin === publicOrigin || origin === `https://${host}`) return true;
  return protocol === 'http' && origin === `http://${host}`;
}

/** Whether the browser came over TLS: where a proxy ended it, as the page or the proxy says. No browser says so of a plain page. */
function isSecure({ headers, protocol }: Asked, publicOrigin: string | undefined): boolean {
  const { host, origin, 'x-forwarded-proto': forwarded } = headers;
  if (origin !== undefined) return origin.startsWith('https:');
  return protocol === 'https' || oneHeader(forwarded) === 'https' || publicOrigin === `https://${host}`;
}

function secureName(host: string | undefined): string {
  return `__Host-${cookieName(host)}`;
}

export function cookieName(host = ''): string {
  return `reins_console_${/:(\d+)$/.exec(host)?.[1] ?? ''}`;
}

/** The only one of that name (K4). */
export function readCookie(header: string | undefined, name: string): string | null {
  const pairs = header?.split(';').map((pair) => pair.trim()) ?? [];
  const [found, second] = pairs.filter((pair) => pair.startsWith(`${name}=`));
  return second === undefined ? found?.slice(name.length + 1) || null : null;
}

function foreignOrigin(): RequestError {
  return new RequestError({
    status: 403,
    errorType: 'permission_error',
    code: 'reins_foreign_origin',
    message:
      'A browser that is signed in may write from the page of this server alone; behind a proxy, server.publicUrl says what its address is.',
  });
}
