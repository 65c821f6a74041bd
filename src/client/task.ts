// A task as the caller holds it. Leaving a loop closes the connection and stops nothing (U-446).

import { assemblyOf } from './assemble-output.ts';
import { ProtocolError } from './errors.ts';
import { followTask, type Position, type TaskSource } from './follow-task.ts';
import { path } from './transport.ts';
import { settleWithin } from './settle-within.ts';
import { takeTurns } from './take-turns.ts';
import { toResult, toSnapshot, type Result, type Snapshot } from './result.ts';
import type { ClientParts } from './client-parts.ts';
import type { TaskEvent } from './parse-event.ts';
import type { UhpResponse } from '../protocol/uhp/response.ts';

export interface Task extends AsyncIterable<TaskEvent> {
  /** As soon as the server has said it. Rejects where the task was refused. */
  readonly responseId: Promise<string>;
  /** Events so far that were of no known type, or not of its shape. */
  readonly unknownEvents: number;
  /** The output so far, of all that was read. */
  snapshot(): Snapshot;
  /**
   * How the task ended. Reads by itself where nobody reads; where somebody does it waits, so it is not for the inside of a loop.
   * @throws UhpError  The task was refused, or the server is lost. A failed task is a result.
   * @throws the signal's reason, as soon as it aborts
   */
  result(): Promise<Result>;
  /** The same events as a stream, for `tee()` and pipes. */
  stream(): ReadableStream<TaskEvent>;
  /** Asks the server to stop the task, and gives the response as it then stands; the events go on to the end. */
  cancel(): Promise<UhpResponse>;
}

export interface TaskOptions {
  readonly source: TaskSource;
  readonly from: Pick<Snapshot, 'responseId' | 'sequenceNumber' | 'output'>;
  readonly signal?: AbortSignal | undefined;
}

/** A new task is sent at once; one that was started elsewhere is read when somebody asks. */
export function createTask(parts: ClientParts, { source, from, signal = never() }: TaskOptions): Task {
  const position: Position = {
    responseId: from.responseId,
    lastNumber: from.sequenceNumber,
    output: assemblyOf(from.output),
    final: null,
    unknownEvents: 0,
  };
  const named = createNaming(position);
  let failure: { readonly error: unknown } | null = null;

  async function* follow(leaving: AbortSignal): AsyncGenerator<TaskEvent, void> {
    try {
      // A refused task is not asked for again by whoever reads next.
      if (failure !== null) throw failure.error;
      for await (const event of followTask({ parts, source, position, signal: AbortSignal.any([signal, leaving]) })) {
        named.look();
        yield event;
      }
      named.look();
      if (signal.aborted) named.reject(signal.reason);
    } catch (error) {
      failure = { error };
      named.reject(error);
      throw error;
    }
  }
  const read = takeTurns(follow, source.creation !== null);
  async function drain(): Promise<UhpResponse> {
    for await (const _ of read(signal));
    signal.throwIfAborted();
    if (position.final === null) throw new ProtocolError('The task has no end.');
    return position.final;
  }

  return {
    [Symbol.asyncIterator]: () => read(signal),
    responseId: named.promise,
    get unknownEvents() {
      return position.unknownEvents;
    },
    snapshot: () =>
      toSnapshot(position.output, {
        responseId: position.responseId,
        sequenceNumber: position.lastNumber,
        status: position.final?.status ?? 'in_progress',
      }),
    async result() {
      return toResult(position.final ?? (await settleWithin(drain(), { clock: parts.clock, ms: null, signal })));
    },
    stream: () => toStream(read),
    async cancel() {
      const id = await named.promise;
      return parts.transport.json({ method: 'POST', path: path`/v1/responses/${id}/cancel`, repeatable: true });
    },
  };
}

/** The response's id, for whoever waits for it; nobody has to. */
function createNaming(position: Position) {
  let settle: { resolve(id: string): void; reject(error: unknown): void } | null = null;
  const promise = new Promise<string>((resolve, reject) => {
    settle = { resolve, reject };
  });
  promise.catch(() => undefined);
  const naming = {
    promise,
    look() {
      if (position.responseId !== null) settle?.resolve(position.responseId);
    },
    reject: (error: unknown) => settle?.reject(error),
  };
  naming.look();
  return naming;
}

function toStream(read: (leaving: AbortSignal) => AsyncGenerator<TaskEvent, void>): ReadableStream<TaskEvent> {
  const leaving = new AbortController();
  const events = read(leaving.signal);
  return new ReadableStream<TaskEvent>(
    {
      async pull(controller) {
        const next = await events.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        leaving.abort();
        await events.return();
      },
    },
    { highWaterMark: 0 },
  );
}

function never(): AbortSignal {
  return new AbortController().signal;
}
