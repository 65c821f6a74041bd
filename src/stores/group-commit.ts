// Group commit: what all runs wrote within one window is one transaction (DESIGN 6). Owns batches from `submit` until they
// are stored or given up; what goes into a batch is the writer's business, who reads it afterwards the log's.
//
// C1. The batches of a queue are stored in the order they were written; at most one is in flight.
// C2. The window's edge leads: after a pause a batch goes with this turn of the event loop, under load one window after
//     the last transaction ended. So an idle server answers at once, and a busy one groups.
// C3. A batch is reported stored after the store said so, never before (append, then publish).
// C4. A batch of live events that the store cannot take is tried four times, then dropped, and its loss is named by a gap
//     in the next batch (E-143). One that holds a committed event is retried for `commitPatienceMs`; then its queue fails.
// C5. One queue's refusal or failure does not touch another queue.

import type { Clock } from '../core/clock.ts';
import { LeaseLostError, StorageError } from '../core/errors.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { RunEvent } from '../core/run-event.ts';
import { stampEvent } from './event-shape.ts';
import type { Append, AppendResult, Store, UnnumberedEvent } from './store.ts';

export interface Batch {
  readonly events: UnnumberedEvent[];
  bytes: number;
  /** True once it holds a committed event. A gap alone is as dispensable as the deltas it names. */
  committed: boolean;
  end: Append['end'];
  /** Present once somebody waits for it. */
  stored: PromiseWithResolvers<void> | null;
  failures: number;
  firstFailureMs: number;
}

/** What one writer has not stored yet. */
export interface WriteQueue {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly generation: number;
  lastSeq: number;
  pending: Batch | null;
  inFlight: Batch | null;
  /** Gaps that name lost deltas: they go with the next batch (C4). */
  lost: readonly UnnumberedEvent[];
  /** Why nothing more can be written, or null. */
  refusal: Error | null;
}

export interface GroupCommitOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly windowMs: number;
  readonly onStored: (queue: WriteQueue, events: readonly RunEvent[], batch: Batch) => void;
  readonly onFailed: (queue: WriteQueue, error: Error) => void;
  /** Nothing of the queue waits any more. */
  readonly onIdle: (queue: WriteQueue) => void;
}

export interface GroupCommit {
  /** Says that the queue has something pending. */
  submit(queue: WriteQueue): void;
  /** Resolves when nothing waits any more: stored, or given up by C4. */
  drain(): Promise<void>;
}

const liveTries = 4;
const commitPatienceMs = 10_000;
const retryMs = { first: 25, most: 1_000 };

export function newBatch(): Batch {
  return { events: [], bytes: 0, committed: false, end: undefined, stored: null, failures: 0, firstFailureMs: 0 };
}

export function createGroupCommit({
  store,
  clock,
  windowMs,
  onStored,
  onFailed,
  onIdle,
}: GroupCommitOptions): GroupCommit {
  const waiting = new Set<WriteQueue>();
  let state: 'idle' | 'scheduled' | 'flushing' = 'idle';
  let pauseMs = windowMs;
  let pausedFromMs = Number.NEGATIVE_INFINITY;
  let drained: PromiseWithResolvers<void> | null = null;

  function schedule(): void {
    if (state !== 'idle' || waiting.size === 0) return;
    state = 'scheduled';
    const elapsedMs = clock.now() - pausedFromMs;
    // A wall clock that was set back must not hold the writes up.
    if (elapsedMs < 0 || elapsedMs >= pauseMs) setImmediate(start);
    else clock.timer(pauseMs - elapsedMs, start);
  }

  function start(): void {
    state = 'flushing';
    // `flush` cannot reject: every failure is an outcome of a queue.
    void flush().finally(() => {
      state = 'idle';
      pausedFromMs = clock.now();
      if (waiting.size === 0) drained?.resolve();
      schedule();
    });
  }

  async function flush(): Promise<void> {
    const queues = [...waiting];
    waiting.clear();
    const outcomes = await send(queues);
    pauseMs = windowMs;
    for (const [index, queue] of queues.entries()) {
      const outcome = outcomes[index];
      if (outcome !== undefined) settle(queue, outcome);
      if (queue.inFlight === null && queue.pending === null) onIdle(queue);
      else waiting.add(queue);
    }
  }

  async function send(queues: readonly WriteQueue[]): Promise<readonly Outcome[]> {
    const entries = queues.map(nextEntry);
    try {
      return await store.append(entries, { durable: queues.some(({ inFlight }) => inFlight?.committed) });
    } catch (cause) {
      if (cause instanceof StorageError || queues.length === 1) return queues.map(() => ({ outcome: 'failed', cause }));
      // Not the store's trouble but an entry that cannot be stored at all: alone it harms nobody else (C5).
      return (await Promise.all(queues.map((queue) => send([queue])))).flat();
    }
  }

  function settle(queue: WriteQueue, outcome: Outcome): void {
    const batch = queue.inFlight;
    if (batch === null) return;
    switch (outcome.outcome) {
      case 'stored':
        queue.inFlight = null;
        queue.lastSeq += outcome.events.length;
        onStored(queue, outcome.events, batch);
        return batch.stored?.resolve();
      case 'lease-lost':
        return fail(queue, new LeaseLostError(queue.runId));
      case 'wrong-position':
        return fail(
          queue,
          new StorageError(`The log of ${queue.runId} ends at ${outcome.lastSeq}, not at ${queue.lastSeq}.`),
        );
      case 'failed':
        return outcome.cause instanceof StorageError
          ? retryLater(queue, batch, outcome.cause)
          : fail(queue, new StorageError('An event cannot be stored.', { cause: outcome.cause }));
    }
  }

  function retryLater(queue: WriteQueue, batch: Batch, cause: StorageError): void {
    if (batch.failures === 0) batch.firstFailureMs = clock.now();
    batch.failures += 1;
    pauseMs = Math.max(pauseMs, Math.min(retryMs.most, retryMs.first * 2 ** batch.failures));
    if (!cause.retryable) return fail(queue, cause);
    if (batch.committed && clock.now() - batch.firstFailureMs >= commitPatienceMs) return fail(queue, cause);
    if (!batch.committed && batch.failures >= liveTries) loseDeltas(queue, batch);
  }

  function fail(queue: WriteQueue, error: Error): void {
    const lost = [queue.inFlight, queue.pending];
    [queue.inFlight, queue.pending, queue.refusal] = [null, null, error];
    onFailed(queue, error);
    for (const batch of lost) batch?.stored?.reject(error);
  }

  return {
    submit(queue) {
      waiting.add(queue);
      schedule();
    },
    async drain() {
      if (state === 'idle' && waiting.size === 0) return;
      drained ??= Promise.withResolvers();
      return drained.promise;
    },
  };
}

type Outcome = AppendResult | { readonly outcome: 'failed'; readonly cause: unknown };

/** Puts the next batch in flight, unless one still is, and gives what the store is to append. */
function nextEntry(queue: WriteQueue): Append {
  const batch = queue.inFlight ?? queue.pending ?? newBatch();
  if (queue.inFlight === null) {
    batch.events.unshift(...queue.lost);
    [queue.inFlight, queue.pending, queue.lost] = [batch, null, []];
  }
  const { runId, generation, lastSeq } = queue;
  const { events, end } = batch;
  return { runId, generation, after: lastSeq, events, ...(end && { end }) };
}

/** Drops a batch of live events; what is written next begins with one gap for each of their attempts (C4). */
function loseDeltas(queue: WriteQueue, batch: Batch): void {
  const gaps = new Map<string, UnnumberedEvent>();
  for (const event of batch.events) {
    if (event.type === 'waiting') continue;
    const { step, attempt } = event;
    const data = { reason: 'deltas_lost', step, attempt } as const;
    const key = `${event.type === 'gap' ? event.data.reason : data.reason}:${step}:${attempt}`;
    gaps.set(key, event.type === 'gap' ? event : stampEvent({ type: 'gap', step, attempt, data }, event));
  }
  [queue.inFlight, queue.lost] = [null, [...gaps.values()]];
  batch.stored?.resolve();
}
