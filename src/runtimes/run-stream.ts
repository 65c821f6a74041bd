// A run as its caller holds it: events, text, result. Over any log; what differs is who owns the run.
//
// S1. Nothing starts before the first `next()`, `result()` or `text()` iteration (E-030).
// S2. Leaving the first iteration of an owning stream cancels its run at once; every other reader only watches (E-032 to
//     E-035). A run whose leg is over is left as it is: it may wait for a person.
// S3. `result()` is one promise, resolves for failed runs too, and also when nobody iterates (E-022).

import { leavable } from './leavable.ts';
import { oneByOne } from './one-by-one.ts';
import { RunResult } from '../core/run-result.ts';
import { StorageError } from '../core/errors.ts';
import { textOf, type TextOptions, type TextStream } from './text-stream.ts';
import { within } from '../core/within.ts';
import type { Clock } from '../core/clock.ts';
import type { RunEvent, RunEventOf } from '../core/run-event.ts';
import type { RunId, SessionId } from '../core/ids.ts';

export interface RunStream extends AsyncIterable<RunEvent>, AsyncDisposable {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** Whether leaving it stops the run; false: an observer. */
  readonly owns: boolean;
  /** The same promise every time. Rejects only where the run could not be run at all. */
  result(): Promise<RunResult>;
  /** The answer's text alone; throws at its end where there is no whole answer (E-039). */
  text(options?: TextOptions): TextStream;
  /** Ends the run, a parked one too. Gives the result of the leg that this stream shows. */
  cancel(): Promise<RunResult>;
}

/** A run behind a stream. */
export interface StreamSource {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly owns: boolean;
  /**
   * Starts the run where it has not begun. Called once, before anything else.
   * @param cancelled  Aborts when the run shall end, which may be before it has begun: a person may be asked first.
   */
  start(cancelled: AbortSignal): Promise<void>;
  /** Events in order, each batch what is there; ends with the last event that this stream shows, or when aborted. */
  follow(signal: AbortSignal): AsyncIterable<readonly RunEvent[]>;
  /** The result alone, for who reads nothing, or came when it was read already; absent: it is found by `follow`. */
  ended?(): Promise<RunEventOf<'run-result'>>;
  /** The reader's own: aborted, nothing is waited for any more, and the run goes on (E-036). */
  readonly left?: AbortSignal;
  cancel(): Promise<void>;
  /** The cursor behind an event; absent: the log is gone with its process. */
  cursor?(seq: number): string;
  /** Bounds how long leaving waits for the run to be quiet; absent: as long as it takes. */
  readonly clock?: Clock;
}

const quietWithinMs = 5_000;

export function createRunStream(source: StreamSource): RunStream {
  let begun: Promise<void> | null = null;
  let outcome: Promise<RunResult> | null = null;
  let taken = false;
  let over = false;
  const cancelled = new AbortController();
  const begin = () => (begun ??= source.start(cancelled.signal));
  const result = () => {
    outcome ??= awaitResult();
    // Whoever asks for the result hears of a refusal; that nobody asks must not end the process.
    outcome.catch(() => {});
    return outcome;
  };
  const toResult = ({ data, seq }: RunEventOf<'run-result'>) => {
    over = true;
    return new RunResult(data, source.cursor?.(seq) ?? null);
  };
  async function awaitResult(): Promise<RunResult> {
    await begin();
    if (source.ended !== undefined) return toResult(await source.ended());
    for await (const events of source.follow(new AbortController().signal)) {
      const last = resultIn(events);
      if (last !== null) return toResult(last);
    }
    throw new StorageError('The log of the run ended before the run did.');
  }
  const cancel = async () => {
    cancelled.abort();
    const ended = result();
    await begin();
    await source.cancel();
    return ended;
  };
  const leave = async () => {
    if (begun !== null && !over) await cancel().catch(() => {}); // A run that was refused needs no cancel.
  };
  const bounded = (leaving: Promise<unknown>) =>
    source.clock === undefined ? leaving : within(leaving, { clock: source.clock, ms: quietWithinMs });

  async function* read(signal: AbortSignal): AsyncGenerator<readonly RunEvent[]> {
    // Who owns a run hears of its end, however little of it is read.
    if (source.owns) void result();
    await begin();
    let last: RunEventOf<'run-result'> | null = null;
    for await (const batch of source.follow(signal)) {
      last = resultIn(batch);
      over ||= last !== null;
      yield batch;
    }
    if (signal.aborted || source.left?.aborted === true) return;
    if (last !== null) outcome ??= Promise.resolve(toResult(last));
    await result();
  }

  const stream: RunStream = {
    get runId() {
      return source.runId;
    },
    get sessionId() {
      return source.sessionId;
    },
    owns: source.owns,
    result,
    cancel,
    text: (options) => textOf(stream, options),
    [Symbol.asyncIterator]() {
      const owns = source.owns && !taken;
      taken = true;
      const left = new AbortController();
      const batches = leavable(read(left.signal), async (close) => {
        left.abort();
        await bounded(Promise.all([owns ? leave() : null, close()]));
      });
      return oneByOne(batches);
    },
    async [Symbol.asyncDispose]() {
      if (source.owns) await bounded(leave());
    },
  };
  return stream;
}

/** The run's own result, where it is the last of these events. */
function resultIn(events: readonly RunEvent[]) {
  const last = events.at(-1);
  return last?.type === 'run-result' && !last.agentPath?.length ? last : null;
}
