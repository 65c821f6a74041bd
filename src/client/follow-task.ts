// The events of one task, each once and in order, over as many connections as that takes. What stands here is the cursor and
// what follows from the end of a connection; bytes are read in `read-messages`, one event in `parse-event`.
//
// S1. Numbers decide: one that was seen is dropped, one too high closes the connection, and the stream is taken up after the
//     last good one (U-443). The same gap twice is the server's own: then the stored response is the truth.
// S2. While the response has no name yet, the request is sent again with its key; from then on the stream is attached to by
//     name. A key is trusted only where the server says that it knows keys (U-440): elsewhere a second POST is a second task.
// S3. Bytes that end are no end (B059). Only the first terminal event ends a task, and after it nothing is read (U-447).
//     204 says that it was seen.
// S4. Silence ends a connection, not the task (U-446, B036). Comments are no silence. Two connections in a row without one
//     byte, and something on the way holds them all back: from then on the response is asked for instead (B034).
// S5. Where the events cannot be had (410, 404, no such form), the stored response is read, and given as the terminal event
//     under the next number.
// S6. Tries in a row without news are counted, and come ever more slowly (U-057). An event begins the count again, and so does a
//     connection that lived for long, if only by comments.
// S7. Whoever gives up ends the reading, without an error, and stops no task (B102).

import {
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  ProtocolError,
  RateLimitError,
  TimeoutError,
  type UhpError,
} from './errors.ts';
import { assemble, type Assembly } from './assemble-output.ts';
import { awaitResponse } from './await-response.ts';
import { backoffOf, isTransient } from './retrying.ts';
import { parseEvent, type ParsedEvent, type TaskEvent } from './parse-event.ts';
import { path, readJson } from './transport.ts';
import { pause, settleWithin } from './settle-within.ts';
import { readMessages } from './read-messages.ts';
import { textOf } from './loose.ts';
import type { ClientParts } from './client-parts.ts';
import type { JsonObject } from '../core/json.ts';
import type { RunRequest } from './shapes.ts';
import type { UhpResponse } from '../protocol/uhp/response.ts';

/** How far a reader is. Goes on from one reading to the next. */
export interface Position {
  responseId: string | null;
  /** Of the last event; -1 before the first. */
  lastNumber: number;
  readonly output: Assembly;
  /** Null until the task has ended. */
  final: UhpResponse | null;
  /** Events of unknown type or broken shape. */
  unknownEvents: number;
}

export interface TaskSource {
  /** Null: it was started elsewhere. */
  readonly creation: { readonly body: RunRequest; readonly key: string } | null;
  /** Absent: as the task was asked for. */
  readonly reinsEvents?: boolean | undefined;
  /** Gets the events that `unknownEvents` counts. */
  readonly onUnknown?: ((event: JsonObject) => void) | undefined;
}

export interface Followed {
  readonly parts: ClientParts;
  readonly source: TaskSource;
  readonly position: Position;
  readonly signal: AbortSignal;
}

type Ending =
  | { readonly kind: 'terminal' | 'seen-to-the-end' | 'gap' | 'silent' | 'unreadable' }
  | { readonly kind: 'broken'; readonly cause: UhpError };

/** @throws UhpError  Refused, or broken off too often. Never because the signal aborts. */
export async function* followTask(task: Followed): AsyncGenerator<TaskEvent, void> {
  try {
    if (task.position.final !== null) return;
    const how = yield* followStream(task);
    if (how === 'ended') return;
    const event = await readStored(task);
    if (how === 'unreadable') yield event;
  } catch (error) {
    if (!task.signal.aborted) throw error;
  }
}

async function* followStream(task: Followed): AsyncGenerator<TaskEvent, 'ended' | 'seen-to-the-end' | 'unreadable'> {
  const { parts, position, signal } = task;
  let [failures, silences] = [0, 0];
  let gapAfter: number | null = null;
  while (!signal.aborted) {
    const firstAfter = position.lastNumber;
    const life: Life = { startedMs: parts.clock.now(), lastByteMs: null };
    const ending: Ending = yield* readConnection(task, life);
    if (position.lastNumber > firstAfter || livedMs(life) > parts.maxBackoffMs) failures = 0;
    if (life.lastByteMs !== null) silences = 0;
    switch (ending.kind) {
      case 'terminal':
        return 'ended';
      case 'seen-to-the-end':
      case 'unreadable':
        return ending.kind;
      case 'gap':
        if (gapAfter === position.lastNumber) return 'unreadable';
        gapAfter = position.lastNumber;
        await requireRepeatable(task, new ProtocolError('The stream has a gap, and cannot be taken up again.'));
        break;
      case 'silent':
        await requireRepeatable(task, new TimeoutError(parts.inactivityMs));
        if (++silences === 2) return 'unreadable';
        break;
      case 'broken':
        failures++;
        if (failures >= parts.maxAttempts) throw ending.cause;
        if (!(ending.cause instanceof RateLimitError)) await requireRepeatable(task, ending.cause);
        await pause(parts.clock, backoffOf(parts, failures, ending.cause), signal);
    }
  }
  return 'ended';
}

/** Of one connection. */
interface Life {
  readonly startedMs: number;
  /** Null: not one came. */
  lastByteMs: number | null;
}

function livedMs({ startedMs, lastByteMs }: Life): number {
  return (lastByteMs ?? startedMs) - startedMs;
}

/** What one connection brings. */
async function* readConnection(task: Followed, life: Life): AsyncGenerator<TaskEvent, Ending> {
  const { parts, position } = task;
  const connection = new AbortController();
  const signal = AbortSignal.any([task.signal, connection.signal]);
  const limits = { clock: parts.clock, ms: parts.inactivityMs, signal };
  const onBytes = () => {
    life.lastByteMs = parts.clock.now();
  };
  const attached = position.responseId !== null;
  try {
    const answer = await settleWithin(parts.transport.send({ ...requestOf(task), signal }), limits);
    if (answer.status === 204) return { kind: 'seen-to-the-end' };
    if (!isStream(answer)) {
      position.responseId ??= (await settleWithin(readJson<UhpResponse>(answer), limits)).id;
      return { kind: 'unreadable' };
    }
    for await (const data of readMessages(answer.body, { ...limits, onBytes })) {
      const step = take(task, parseEvent(data));
      if (step === 'gap') return { kind: 'gap' };
      if (step !== null) yield step;
      if (position.final !== null) return { kind: 'terminal' };
    }
    return { kind: 'broken', cause: new ConnectionError('The stream ended before its task.') };
  } catch (error) {
    if (error instanceof TimeoutError && life.lastByteMs === null) return { kind: 'silent' };
    if (isTransient(error)) return { kind: 'broken', cause: error };
    if (attached && isRefusal(error)) return { kind: 'unreadable' };
    throw error;
  } finally {
    connection.abort();
  }
}

/** The event, where it is the next one and known. */
function take({ source, position }: Followed, parsed: ParsedEvent | null): TaskEvent | 'gap' | null {
  if (parsed === null) return null;
  const { number, event, raw } = parsed;
  position.responseId ??= textOf(raw['response'], 'id') ?? null;
  if (number !== null) {
    if (number <= position.lastNumber) return null;
    if (number > position.lastNumber + 1) return 'gap';
    position.lastNumber = number;
  }
  if (event === null) {
    position.unknownEvents++;
    source.onUnknown?.(raw);
    return null;
  }
  assemble(position.output, event);
  if (event.type === 'response.completed' || event.type === 'response.incomplete' || event.type === 'response.failed')
    position.final = event.response;
  return event;
}

function requestOf({ source, position }: Followed) {
  if (position.responseId === null) return creationOf(source, { stream: true });
  return {
    path: path`/v1/responses/${position.responseId}`,
    query: {
      stream: true,
      starting_after: position.lastNumber < 0 ? undefined : position.lastNumber,
      reins_events: source.reinsEvents,
    },
  };
}

function creationOf({ creation }: TaskSource, how: object) {
  return {
    method: 'POST' as const,
    path: '/v1/responses',
    body: { ...creation?.body, ...how },
    headers: { 'Idempotency-Key': creation?.key ?? '' },
  };
}

/** S4, S5. The request is sent once more only where there was no event to say the response's name. */
async function readStored({ parts, source, position, signal }: Followed): Promise<TaskEvent> {
  if (position.responseId === null) {
    // What is not stored cannot be asked for later: its one answer is waited for.
    const stored = source.creation?.body.store !== false;
    const call = { ...creationOf(source, { stream: false, background: stored }), repeatable: true, signal };
    const response = await parts.transport.json<UhpResponse>(stored ? call : { ...call, timeoutMs: null });
    position.responseId = response.id;
    if (!stored) return finish(position, response);
  }
  return finish(position, await awaitResponse(parts, position.responseId, signal));
}

function finish(position: Position, response: UhpResponse): TaskEvent {
  const status = response.status === 'completed' || response.status === 'incomplete' ? response.status : 'failed';
  const sequence_number = position.lastNumber + 1;
  const event: TaskEvent = { type: `response.${status}`, sequence_number, response };
  assemble(position.output, event);
  position.final = response;
  return event;
}

/** S2. @throws the cause of the last failure, where another try could start a second task. */
async function requireRepeatable({ parts, position }: Followed, cause: UhpError): Promise<void> {
  if (position.responseId !== null) return;
  const discovery = await parts.discovery().catch(() => null);
  if (discovery?.capabilities.idempotency !== true) throw cause;
}

function isStream(answer: Response): answer is Response & { readonly body: ReadableStream<Uint8Array> } {
  return answer.body !== null && answer.headers.get('Content-Type')?.startsWith('text/event-stream') === true;
}

/** The server has the task, but not its events in this form. */
function isRefusal(error: unknown): boolean {
  return error instanceof InvalidRequestError || error instanceof NotFoundError || error instanceof ConflictError;
}
