// One request of a runtime, passed on to its provider and back.
//
// F1. Bytes of bodies pass as they are, each chunk before it is read here; whoever is slower sets the pace (H-202).
// F2. Either side's going ends the other's connection at once; so does revoking.
// F3. A reply that ended without its wire's end mark reaches the runtime as a broken connection, after all of its bytes (H-204).
// F4. Nothing is asked twice, kept or rewritten (H-205). What the relay answers itself is a refusal, or an error reply that
//     is final.
// F5. A model call is told of from `asked` to exactly one `ended`.

import { once } from 'node:events';
import { answerHeaders, upstreamHeaders } from './headers.ts';
import { judgeRefusal, type Judgement } from './judge-refusal.ts';
import { nothingSeen, observeReply, type Seen } from './observe/observe-reply.ts';
import { readAsked, readBody, type Asked } from './read-asked.ts';
import { refusalBody, refusals, RelayRefusal } from './refusals.ts';
import { ReinsError } from '../../core/errors.ts';
import type { Clock } from '../../core/clock.ts';
import type { Dispatcher } from 'undici';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../../core/logger.ts';
import type { OpenLease } from './lease.ts';
import type { RelayNews } from './relay-fact.ts';
import type { Route, Wire } from './routes.ts';

export interface ForwardParts {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Exchange {
  readonly route: Route;
  readonly lease: OpenLease;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Call extends ForwardParts, Exchange {
  readonly asked: Asked;
  readonly signal: AbortSignal;
  tell(news: RelayNews): void;
}

type Answer = Dispatcher.ResponseData;
type End = Extract<RelayNews, { at: 'ended' }>;

class CutReply extends ReinsError {}

const nothingAsked: Asked = { models: [], streams: false, tools: 0 };

export async function forward(parts: ForwardParts, exchange: Exchange): Promise<void> {
  const { route, lease, request, response } = exchange;
  const stop = new AbortController();
  const abort = () => stop.abort();
  response.once('close', abort);
  try {
    using entered = lease.enter(abort);
    const body = await readBody(request, entered);
    const number = route.kind === 'call' ? lease.number() : 0;
    const tell = (news: RelayNews) => {
      if (route.kind === 'call') lease.tell({ ...news, request: number });
    };
    const asked = body instanceof RelayRefusal ? null : readAsked(route, body);
    const { models, tools } = asked ?? nothingAsked;
    tell({ at: 'asked', model: models[0] ?? null, tools, atMs: parts.clock.now() });
    const call = { ...parts, ...exchange, asked: asked ?? nothingAsked, signal: stop.signal, tell };
    await relay(call, asked === null && body instanceof Buffer ? refusals.unreadable() : body);
  } catch (cause) {
    // A request that was never whole is nothing to tell of.
    if (cause instanceof RelayRefusal) refuse(response, route.wire, cause);
    else if (request.complete) throw cause;
    else response.destroy();
  }
}

async function relay(call: Call, body: Buffer | RelayRefusal): Promise<void> {
  let seen = nothingSeen;
  let end: Pick<End, 'how' | 'error'>;
  const see = (now: Seen) => {
    if (now.model !== null && now.model !== seen.model) call.tell({ at: 'served', model: now.model });
    seen = now;
  };
  try {
    if (body instanceof RelayRefusal) throw body;
    call.lease.admit(call.asked.models, call.route.kind);
    const answer = await ask(call, body);
    // An aborted body says so to its reader, if it has one, and to nobody else.
    answer.body.on('error', () => undefined);
    try {
      end = answer.statusCode >= 400 ? await passRefusal(call, answer) : await passReply(call, answer, see);
    } finally {
      answer.body.destroy();
    }
  } catch (cause) {
    end = breakOff(call, cause);
  }
  if (seen.usage !== null) call.tell({ at: 'usage', usage: seen.usage });
  // Many runtimes go as soon as they have read the end mark, without waiting for the end of the body.
  const { how, error } = seen.ends ? { how: 'whole' as const, error: null } : end;
  call.tell({ at: 'ended', how, finishReason: seen.finishReason, error: error ?? seen.error, calls: seen.calls });
}

async function ask({ dispatcher, lease, route, request, signal }: Call, body: Buffer): Promise<Answer> {
  const { origin, path, query } = lease.upstream;
  const search = [query, route.query].filter((part) => part !== '' && !part.includes(lease.token)).join('&');
  try {
    return await dispatcher.request({
      origin,
      path: `${path}${route.path}${search === '' ? '' : `?${search}`}`,
      method: route.method,
      headers: upstreamHeaders(request.headers, lease),
      body: route.method === 'GET' ? null : body,
      signal,
    });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw refusals.unreachable(cause instanceof Error && 'code' in cause ? String(cause.code) : 'no connection');
  }
}

async function passReply(call: Call, answer: Answer, see: (seen: Seen) => void): Promise<Pick<End, 'how' | 'error'>> {
  const { route, response, lease, signal, clock } = call;
  call.tell({ at: 'answered', status: answer.statusCode, retryAfterMs: null });
  const form = formOf(call, answer);
  const observer = observeReply(route.wire, form);
  response.writeHead(answer.statusCode, withLength(answer, answerHeaders(answer.headers, lease.upstream)));
  response.flushHeaders();
  let toldMs = -Infinity;
  for await (const chunk of answer.body) {
    const bytes: Buffer = chunk;
    const flows = response.write(bytes);
    const atMs = clock.now();
    if (observer.take(bytes) && atMs - toldMs >= 1_000) call.tell({ at: 'byte', atMs: (toldMs = atMs) });
    see(observer.seen);
    if (!flows) await once(response, 'drain', { signal });
  }
  observer.end();
  see(observer.seen);
  if (form === 'events' && !observer.seen.ends)
    throw new CutReply('The model provider ended its reply before it was whole.');
  response.end();
  return { how: 'whole', error: null };
}

/** @throws RelayRefusal  It is not what was asked for. */
function formOf({ asked }: Call, { statusCode, headers }: Answer): 'events' | 'document' {
  if (statusCode >= 300) throw refusals.redirected();
  const encoding = String(headers['content-encoding'] ?? 'identity');
  if (encoding !== 'identity') throw refusals.encoded(encoding);
  const type = String(headers['content-type'] ?? 'a body without a type');
  if (/^text\/event-stream\b/i.test(type)) return 'events';
  if (asked.streams) throw refusals.notAStream(type);
  return 'document';
}

/** Error replies are short and are read before they are passed on: what they mean decides their status. */
async function passRefusal(call: Call, answer: Answer): Promise<Pick<End, 'how' | 'error'>> {
  const { response, lease, clock, route } = call;
  const status = answer.statusCode;
  const bytes = await readError(answer);
  // Some servers repeat the key that they refuse.
  const text = lease.upstream.redact(bytes.toString());
  const headers = Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
  const judgement: Judgement = judgeRefusal({ status, headers, text }, clock.now());
  call.tell({ at: 'answered', status, retryAfterMs: judgement.retryAfterMs, failure: judgement.failure });
  if (judgement.isFinal && status !== 400) refuse(response, route.wire, refusals.final(judgement.error.message));
  else {
    const sent = text === bytes.toString() ? bytes : Buffer.from(text);
    const passing = answerHeaders(answer.headers, lease.upstream);
    response.writeHead(status, { ...passing, 'content-length': sent.length }).end(sent);
  }
  return { how: 'refused', error: judgement.error };
}

async function readError({ body }: Answer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    const bytes: Buffer = chunk;
    length += bytes.length;
    if (length > 1024 * 1024) throw refusals.errorTooLong();
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

/** A length that was announced lets the runtime notice a cut by itself. */
function withLength(
  { headers }: Answer,
  passing: Record<string, string | string[]>,
): Record<string, string | string[]> {
  const length = headers['content-length'];
  return length === undefined ? passing : { ...passing, 'content-length': length };
}

/** Whatever stopped the exchange before its end. */
function breakOff(call: Call, cause: unknown): Pick<End, 'how' | 'error'> {
  const { response, lease, route, signal, logger } = call;
  const facts = { provider: lease.options.provider, path: route.path };
  if (cause instanceof RelayRefusal) {
    refuse(response, route.wire, cause);
    if (cause.kind === 'cut') logger.warn('A model call of a harness failed.', { ...facts, message: cause.message });
    else if (cause.code === 'reins_model' || cause.code === 'reins_budget')
      logger.warn('A model call of a harness was not let through.', { ...facts, message: cause.message });
    return { how: cause.kind, error: { type: cause.code, message: cause.message } };
  }
  if (signal.aborted) {
    if (lease.isRevoked && !response.headersSent && !response.destroyed)
      refuse(response, route.wire, refusals.revoked());
    else response.destroy();
    return { how: 'aborted', error: null };
  }
  const cut = cause instanceof CutReply ? cause : new CutReply('The model provider broke the connection.', { cause });
  logger.warn('A model reply for a harness was cut off.', { ...facts, message: cut.message });
  // What came before the cut is still on its way to the runtime.
  if (response.socket === null) response.destroy();
  else response.socket.destroySoon();
  return { how: 'cut', error: { type: null, message: cut.message } };
}

/** Answers with an error of the relay's own; nothing was sent before. */
export function refuse(response: ServerResponse, wire: Wire, refusal: RelayRefusal): void {
  const body = refusalBody(wire, refusal);
  // The clients of two providers ask this header before they look at the status.
  const final = refusal.status < 500 && refusal.status !== 429 ? { 'x-should-retry': 'false' } : {};
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...final };
  // The rest of a request that was not read to its end is not waited for.
  if (!response.req.complete) response.shouldKeepAlive = false;
  response.writeHead(refusal.status, headers).end(body);
}
