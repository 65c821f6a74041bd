// Tasks over HTTP: U-070 to U-074. Whoever reads is an observer: nothing here ends a task but a cancel (U-320).

import { RequestError } from '../../core/errors.ts';
import type { RunId } from '../../core/ids.ts';
import { parseCreateResponse } from '../../protocol/uhp/request.ts';
import { acceptTask, type Accepted } from '../../tasks/accept-task.ts';
import { cancelTask } from '../../tasks/cancel-task.ts';
import { deleteResponse } from '../../tasks/delete-response.ts';
import { followTask } from '../../tasks/follow-task.ts';
import { findRun } from '../../tasks/find-in-scope.ts';
import { acceptedResponse, awaitResponse, readInputItems, readResponse } from '../../tasks/read-response.ts';
import type { Services } from '../../tasks/services.ts';
import { hashBody } from '../hash-body.ts';
import { cursorOf, flagOf, idempotencyKeyOf, lastEventIdOf } from '../request-fields.ts';
import { idOf, type Call, type Route } from '../route.ts';
import type { SendStream } from '../send-stream.ts';

export function responseRoutes(services: Services, sendStream: SendStream): readonly Route[] {
  return [
    {
      path: '/v1/responses',
      verbs: { POST: { scope: 'tasks', handle: (call) => createResponse(services, sendStream, call) } },
    },
    {
      path: '/v1/responses/:id',
      verbs: {
        GET: { scope: 'read', handle: (call) => getResponse(services, sendStream, call) },
        DELETE: {
          scope: 'tasks',
          audit: 'response.delete',
          async handle(call) {
            await deleteResponse(services, call.caller.principal, idOf(call));
            return { id: idOf(call), deleted: true };
          },
        },
      },
    },
    {
      path: '/v1/responses/:id/input_items',
      verbs: {
        GET: {
          scope: 'read',
          handle: async (call) => ({
            object: 'list',
            data: await readInputItems(services, call.caller.principal, idOf(call)),
          }),
        },
      },
    },
    {
      path: '/v1/responses/:id/cancel',
      verbs: {
        POST: { scope: 'tasks', handle: (call) => cancelTask(services, call.caller.principal, idOf(call)) },
      },
    },
  ];
}

async function createResponse(services: Services, sendStream: SendStream, call: Call): Promise<unknown> {
  const { principal } = call.caller;
  const body = parseCreateResponse(call.request.body);
  const key = idempotencyKeyOf(call);
  const after = lastEventIdOf(call);
  if (after !== null) await requireKnownKey(services, principal, key);
  const idempotency = key === null ? null : { key, bodyHash: hashBody(body.bodyHashInput) };
  const accepted = await acceptTask(services, { principal, body, idempotency });
  markReplay(services, call, accepted);
  const { runId } = accepted;
  if (body.stream) return attach(services, sendStream, { call, runId, after, reinsEvents: null });
  return body.background ? acceptedResponse(services, runId) : waitForEnd(services, call, runId);
}

async function getResponse(services: Services, sendStream: SendStream, call: Call): Promise<unknown> {
  const { principal } = call.caller;
  if (flagOf(call, 'stream') !== true) return readResponse(services, principal, idOf(call));
  const [after, reinsEvents] = [cursorOf(call), flagOf(call, 'reins_events')];
  const { runId } = await findRun(services, principal, idOf(call));
  return attach(services, sendStream, { call, runId, after, reinsEvents });
}

interface Attachment {
  readonly call: Call;
  readonly runId: RunId;
  /** The last event that the reader has; null = none. */
  readonly after: number | null;
  /** Null = as the task was asked for (UD-24). */
  readonly reinsEvents: boolean | null;
}

/** The events after the cursor, or 204 where the reader has the terminal one (UD-17). */
async function attach(services: Services, sendStream: SendStream, attachment: Attachment): Promise<unknown> {
  const { call, ...position } = attachment;
  const frames = await followTask(services, position);
  return frames === null ? call.reply.code(204).send() : sendStream(call, frames);
}

async function waitForEnd(services: Services, call: Call, runId: RunId): Promise<unknown> {
  const signal = call.signal();
  try {
    return await awaitResponse(services, runId, signal);
  } catch (cause) {
    throw signal.aborted ? stoppedWaiting(cause) : cause;
  }
}

/** An SSE library that posts again to resume must not start the work a second time (UD-19). */
async function requireKnownKey(services: Services, principal: string, key: string | null): Promise<void> {
  if (key === null)
    throw new RequestError({
      status: 400,
      errorType: 'invalid_request_error',
      code: 'reins_cursor_without_key',
      message: 'A POST can resume a stream only with the Idempotency-Key of its first request; nothing was started.',
      param: 'Last-Event-ID',
    });
  if ((await services.store.idempotency(principal, key)) === null)
    throw new RequestError({
      status: 410,
      errorType: 'invalid_request_error',
      code: 'reins_event_log_expired',
      message: 'This idempotency key is not known here (any more); nothing was started.',
      param: 'Idempotency-Key',
    });
}

/** Set on the raw answer, so that a stream carries it, too (UD-11, UD-12). */
function markReplay({ logger }: Services, { request, reply }: Call, { runId, replayed, sameBody }: Accepted): void {
  if (!replayed) return;
  reply.raw.setHeader('Idempotent-Replayed', 'true');
  if (sameBody) return;
  reply.raw.setHeader('Reins-Idempotency-Mismatch', 'true');
  logger.warn('An idempotency key came again with another body.', { request_id: request.id, response_id: runId });
}

/**
 * The task goes on; only this answer will not come. Unheard where the client has gone. Never 503: that says that nothing was
 * begun, and a balancer asks another server then.
 */
function stoppedWaiting(cause: unknown): RequestError {
  return new RequestError({
    status: 504,
    errorType: 'server_error',
    code: 'reins_closing',
    message: 'The server is closing; the task goes on, and its response can be read when the server is back.',
    headers: { 'Retry-After': '5' },
    cause,
  });
}
