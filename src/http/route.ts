import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../auth/authenticate.ts';
import type { Scope } from '../auth/keys.ts';

/** One path with all its methods: what is not here answers 405 (UD-64). HEAD is answered as GET without its body. */
export interface Route {
  readonly path: string;
  readonly verbs: Readonly<Partial<Record<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', Verb>>>;
  /**
   * Not of the protocol: refusals are `{ error }`. With `agent` methods are judged first, and bodies come as text (A-006,
   *
   */
  readonly dialect?: 'agent' | 'chat';
  /** Absent: the server's own limit. For what everybody may send. */
  readonly maxBodyBytes?: number;
}

export type Verb =
  /** Served to everybody (U-040). */
  | { readonly open: true; readonly body?: never; readonly audit?: never; handle(call: OpenCall): unknown }
  /**
   * `body: 'stream'`: a form, which the handler reads by itself. `audit`: what was done, as `key.create`, for the audit log
   * (UR-54): to the object that the path names, else to the one that the answer does.
   */
  | {
      readonly open?: never;
      readonly scope: Scope;
      readonly body?: 'stream';
      readonly audit?: string;
      handle(call: Call): unknown;
    };

export interface RouteShape {
  Params: Readonly<Record<string, string | undefined>>;
  Querystring: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface OpenCall {
  readonly request: FastifyRequest<RouteShape>;
  readonly reply: FastifyReply<RouteShape>;
  /** Aborts when the client has gone or the server closes. */
  signal(): AbortSignal;
}

/** A handler's answer is what it returns, as JSON with 200; a stream takes the reply over instead. */
export interface Call extends OpenCall {
  readonly caller: Caller;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    route?: Route;
  }
}

/** The id in the path; any text is an id that may be unknown (U-044). */
export function idOf({ request }: OpenCall): string {
  return request.params['id'] ?? '';
}
