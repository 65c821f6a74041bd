// An HTTP server for a table of routes. What is here holds for every answer: the version, the request id, the envelope, the
// order of checks, the time limits, the way it closes.
//
// H1. Every answer carries `UHP-Version` and `X-Request-Id`: both are set on the raw response before anything can fail, and
//     on the bytes that answer bad HTTP (U-022, UD-66).
// H2. Only receiving a request has time limits; an answer may take as long as its task (B030).
// H3. Once the server is to go, each answer ends its connection: who keeps one open asks the next time elsewhere.
// H4. Closing: streams end after their current batch, waiting calls are refused, idle connections go; what still hangs on
//     after the grace time is cut.

import { METHODS, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server as TlsServer, createServer as createTlsServer } from 'node:https';
import type { Server as PlainServer } from 'node:http';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Random } from '../core/random.ts';
import { defaultVersion } from '../protocol/uhp/versions.ts';
import { admit, identify, isOpenPath, verbOf, type Credentials } from './door.ts';
import { answerBadHttp, sendError } from './error-mapping.ts';
import { addFormBody } from './form-body.ts';
import { addJsonBody } from './json-body.ts';
import { addTextBody } from './text-body.ts';
import { createCors } from './cors.ts';
import { createOpenCalls, type OpenCalls } from './open-calls.ts';
import type { AuditFact } from '../tasks/append-audit.ts';
import type { TlsMaterial } from './read-tls.ts';
import { idOf, type Call, type OpenCall, type Route, type RouteShape } from './route.ts';

export interface RouteServerOptions {
  readonly keys: Credentials;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Whether it is to go (H3); absent: never. */
  isLeaving?(): boolean;
  /** Where what was done is written down. */
  audit(fact: AuditFact): Promise<void>;
  readonly settings: {
    readonly maxBodyBytes: number;
    /** Base of links; `https` declares TLS in front of this server (UD-71). */
    readonly publicUrl?: string;
    /** PEM texts; given: this server speaks TLS itself. */
    readonly tls?: TlsMaterial | null;
    /** Origins whose pages may read answers; absent: none. */
    readonly allowedOrigins?: readonly string[];
    /** How long a client may take to send its headers, and all of its request. Absent: 15 s and 5 min. */
    readonly receiveTimeouts?: { readonly headersMs: number; readonly requestMs: number; readonly checkMs: number };
  };
}

type Server = PlainServer | TlsServer;

export interface HttpServer {
  /** Resolves to the URL when requests are answered; port 0 takes any free one. */
  listen(host: string, port: number): Promise<string>;
  /** From the next connection on, where this server speaks TLS. */
  renewTls(material: TlsMaterial): void;
  /** Resolves when no connection is left (H4). */
  close(graceMs?: number): Promise<void>;
  readonly openCalls: number;
}

export function createRouteServer(routes: readonly Route[], options: RouteServerOptions): HttpServer {
  const calls = createOpenCalls();
  const standing = createStandingHeaders(options);
  const cors = createCors(options.settings.allowedOrigins ?? []);
  const app = createApp(options);
  const parts = { calls, audit: (fact: AuditFact) => options.audit(fact) };
  for (const route of routes)
    if (route.dialect !== 'agent') addRoute(app, route, parts);
    else app.register(async (scope) => addRoute(addTextBody(scope), route, parts));
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    // Overwritten, never trusted: Fastify takes its request id from here.
    const headers = standing();
    request.headers['x-request-id'] = headers['X-Request-Id'];
    response.setHeaders(new Map(Object.entries(headers)));
    if (options.isLeaving?.() === true) response.shouldKeepAlive = false;
    // A client that goes away in mid-answer is no fault; unheard, it would end the process.
    response.on('error', () => {});
    if (cors(request, response) === 'goes-on') app.routing(request, response);
  };
  const { tls = null } = options.settings;
  const limits = serverSettings(options);
  const server = tls === null ? createServer(limits, answer) : createTlsServer({ ...limits, ...tls }, answer);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('clientError', (error, socket) => answerBadHttp(error, socket, standing()));
  // An unknown expectation is ignored, so that its answer has the form of all others.
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
  return {
    async listen(host, port) {
      await app.ready();
      await startListening(server, host, port);
      return urlOf(server, { host, scheme: tls === null ? 'http' : 'https' });
    },
    renewTls(material) {
      if (server instanceof TlsServer) server.setSecureContext(material);
    },
    close: (graceMs = 5_000) => closeAll({ server, sockets, app, calls, clock: options.clock }, graceMs),
    get openCalls() {
      return calls.size;
    },
  };
}

/** Makes the headers that each answer starts with. */
function createStandingHeaders({ random, settings }: RouteServerOptions) {
  const tls = settings.publicUrl?.startsWith('https:') === true || (settings.tls ?? null) !== null;
  const fixed = {
    'UHP-Version': defaultVersion,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Resource-Policy': 'same-origin',
    // Streams and files say otherwise.
    'Cache-Control': 'no-store',
    ...(tls ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  };
  return () => ({ ...fixed, 'X-Request-Id': `req_${random.token()}` });
}

function serverSettings({ settings }: RouteServerOptions) {
  const limits = settings.receiveTimeouts ?? { headersMs: 15_000, requestMs: 300_000, checkMs: 5_000 };
  return {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: limits.checkMs,
    // Above the idle limit of common proxies (60 s), so that it is they who close, and no request meets a closing socket.
    keepAliveTimeout: 72_000,
    // Node would answer by itself, in a form of its own.
    requireHostHeader: false,
  };
}

function createApp({ keys, logger, settings }: RouteServerOptions): FastifyInstance {
  const { maxBodyBytes } = settings;
  const app = Fastify({
    bodyLimit: maxBodyBytes,
    requestIdHeader: 'x-request-id',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    // Longer than a request line can be: a long id is an unknown one (U-044).
    routerOptions: { maxParamLength: 32_768 },
    frameworkErrors(error, request, reply) {
      const refuse = (cause: unknown) => sendError(cause, { request, reply, logger, maxBodyBytes });
      void identify(keys, request, { reply, open: isOpenPath(request.url) }).then(() => refuse(error), refuse);
    },
  });
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  addJsonBody(app);
  addFormBody(app);
  app.decorateRequest('caller', null);
  app.addHook('onRequest', (request, reply) => admit(keys, request, reply));
  app.setErrorHandler((error, request, reply) => sendError(error, { request, reply, logger, maxBodyBytes }));
  // Known without reading the body, so the hook above refuses it; this is only its place in the router.
  app.setNotFoundHandler(() => {});
  return app;
}

function addRoute(
  app: FastifyInstance,
  route: Route,
  { calls, audit }: Pick<RouteServerOptions, 'audit'> & { readonly calls: OpenCalls },
): void {
  const bodyLimit = route.maxBodyBytes === undefined ? {} : { bodyLimit: route.maxBodyBytes };
  app.all<RouteShape>(route.path, { config: { route }, ...bodyLimit }, async (request, reply): Promise<unknown> => {
    const call: OpenCall = { request, reply, signal: () => calls.signalOf(reply.raw) };
    const verb = verbOf(route, request.method);
    if (verb?.open === true) return verb.handle(call);
    // The door has let it in; that it always does is not left to be believed.
    if (verb === undefined || request.caller === null) throw new Error('A route was reached past the door.');
    const answer = await verb.handle({ ...call, caller: request.caller });
    // Written before the answer is sent: whoever is told that it was done finds it in the log.
    if (verb.audit !== undefined) await audit(factOf({ ...call, caller: request.caller }, verb.audit, answer));
    return answer;
  });
}

function factOf(call: Call, action: string, answer: unknown): AuditFact {
  const { principal, keyId } = call.caller;
  const made = typeof answer === 'object' && answer !== null && 'id' in answer ? String(answer.id) : '';
  return { principal, keyId, action, object: idOf(call) || made, requestId: call.request.id };
}

function startListening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function urlOf(server: Server, { host, scheme }: { readonly host: string; readonly scheme: string }): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

interface Closable {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
  readonly app: FastifyInstance;
  readonly calls: OpenCalls;
  readonly clock: Clock;
}

async function closeAll({ server, sockets, app, calls, clock }: Closable, graceMs: number): Promise<void> {
  const cancelCut = clock.timer(graceMs, () => server.closeAllConnections());
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // From now on a connection is idle no longer than its answer takes.
  server.keepAliveTimeout = 1;
  await calls.close();
  server.closeIdleConnections();
  // Node takes a connection on which nothing was asked yet, as browsers and clients open them ahead, for a busy one.
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  await app.close();
  await closed;
  cancelCut();
}
