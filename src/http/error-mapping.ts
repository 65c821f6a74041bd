// The one place where an error becomes an answer (U-050): ours as they say, a framework's by its own code, all others as
// `reins_internal` with nothing of the cause but the request id under which the log has it (U-052, UD-66).

import { maxHeaderSize, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { InvalidInputError, RequestError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { agentRefusalBody } from '../protocol/agent/agent-refusal.ts';
import { chatRefusalBody } from '../protocol/ui/chat-refusal.ts';
import { toEnvelope } from '../protocol/uhp/error.ts';
import { verbOf } from './door.ts';
import type { Route } from './route.ts';

export interface ErrorContext {
  readonly requestId: string;
  readonly maxBodyBytes: number;
  /** What the route takes; absent: JSON. */
  readonly bodyForm?: string;
}

const jsonForm = 'JSON, announced as Content-Type: application/json';

/** What the caller is told about any thrown value. */
export function toRequestError(error: unknown, context: ErrorContext): RequestError {
  if (error instanceof RequestError) return error.status < 500 ? error : withRequestId(error, context);
  switch (frameworkCode(error)) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return tooLarge(context.maxBodyBytes);
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new InvalidInputError(`The body must be ${context.bodyForm ?? jsonForm}.`);
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new InvalidInputError('The body is not as long as its Content-Length says.');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new InvalidInputError('The path is not a valid URL path.');
    default:
      return withRequestId(unforeseen(error), context);
  }
}

/** Sends it; tells the operator what the caller is not told. A caller that has gone gets and costs nothing. */
export function sendError(
  error: unknown,
  call: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly logger: Logger;
    readonly maxBodyBytes: number;
  },
): void {
  const { request, reply, logger, maxBodyBytes } = call;
  if (reply.raw.destroyed) return void reply.hijack();
  const { route } = request.routeOptions.config;
  const takesForm = route !== undefined && verbOf(route, request.method)?.body === 'stream';
  const answer = toRequestError(error, {
    requestId: request.id,
    maxBodyBytes: route?.maxBodyBytes ?? maxBodyBytes,
    ...(takesForm ? { bodyForm: 'a multipart/form-data form' } : {}),
  });
  if (answer.status >= 500)
    logger.error('A request failed.', { request_id: request.id, method: request.method, code: answer.code }, error);
  const body = refusalBodyOf(route?.dialect ?? dialectAt(request.url), answer, request.id);
  // The framework would close while the rest of a body still comes, and who sends it would see a broken pipe in place of this.
  reply.removeHeader('connection');
  void reply.code(answer.status).headers(answer.headers).type('application/json; charset=utf-8').send(body);
}

function refusalBodyOf(dialect: Route['dialect'], answer: RequestError, requestId: string) {
  switch (dialect) {
    case 'agent':
      return agentRefusalBody(answer, requestId);
    case 'chat':
      return chatRefusalBody(answer, requestId);
    case undefined:
      return toEnvelope(answer);
  }
}

/** Where nothing is, it is still the client of that path that reads the answer. */
function dialectAt(url: string): Route['dialect'] {
  if (/^\/api\/agent(?:[/?]|$)/.test(url)) return 'agent';
  return /^\/api\/chat(?:[/?]|$)/.test(url) ? 'chat' : undefined;
}

/** Answers bytes that are no HTTP request: Node gives these to nobody else (U-050, U-022). */
export function answerBadHttp(
  error: Error & { code?: string },
  socket: Duplex,
  headers: Readonly<Record<string, string>>,
): void {
  // A reset connection, or one that is in the midst of an answer, can only be dropped.
  if (error.code === 'ECONNRESET' || !socket.writable || answersNow(socket)) return void socket.destroy();
  const body = JSON.stringify(toEnvelope(new InvalidInputError(badHttpSentence(error.code))));
  const lines = Object.entries({
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 400 Bad Request\r\n${lines.join('')}\r\n${body}`);
}

function badHttpSentence(code = ''): string {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return `The request line and headers are over the limit of ${maxHeaderSize} bytes.`;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'The request was not sent completely in time.';
    default:
      return 'This is not a valid HTTP request.';
  }
}

/** Node keeps the answer that a socket is busy with in a field of its own. */
function answersNow(socket: Duplex & { _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true;
}

function withRequestId(error: RequestError, { requestId }: ErrorContext): RequestError {
  const { status, errorType, code, message, param, headers, cause } = error;
  const detail = { ...error.detail, request_id: requestId };
  return new RequestError({
    status,
    errorType,
    code,
    message,
    ...(param === null ? {} : { param }),
    detail,
    headers,
    cause,
  });
}

function unforeseen(cause: unknown): RequestError {
  const message = 'The server met a fault of its own; the operator finds it in the log under the request id.';
  return new RequestError({ status: 500, errorType: 'server_error', code: 'reins_internal', message, cause });
}

function tooLarge(maxBytes: number): RequestError {
  return new RequestError({
    status: 413,
    errorType: 'invalid_request_error',
    code: 'file_too_large',
    message: `The body is over the limit of ${maxBytes} bytes.`,
    detail: { max_bytes: maxBytes },
  });
}

/** Fastify's own errors are told by their code: a `statusCode` is on foreign errors as well, such as a model provider's. */
function frameworkCode(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return '';
  return error.code.startsWith('FST_') ? error.code : '';
}
