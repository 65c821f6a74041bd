// What one writer has taken in and the store does not have yet. Owns each batch from its first event until it is stored or
// given up; when the store is asked is `group-commit.ts`, what a run may write at all is `run-writer.ts`.
//
// Q1. Batches are stored in the order they were written; at most one is in flight, and only the one behind it grows.
// Q2. A batch is reported stored after the store said so and its events were published, never before (E-007).
// Q3. A batch of live events that the store cannot take is tried four times, then dropped, and its loss is named by a gap
//     in the next batch (E-143). One that holds a committed event, or that the run's end waits behind, is tried for
//     `commitPatienceMs`; then the queue fails for good. So nothing is lost any more once the end was given.

import { LeaseLostError, RuntimeStateError, StorageError } from '../core/errors.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import { isLive, type EventDraft, type RunEvent } from '../core/run-event.ts';
import { stampEvent } from './event-shape.ts';
import { weighEvent } from './event-weight.ts';
import { mergeDeltas } from './merge-deltas.ts';
import type { Append, AppendResult, UnnumberedEvent } from './store.ts';

/** A run as its new owner found it, and the leg that it writes. */
export interface WrittenRun {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly generation: number;
  readonly lastSeq: number;
  readonly leg: number;
}

export interface WriteQueueListeners {
  readonly onStored: (events: readonly RunEvent[], bytes: number) => void;
  /** Called once, before those who wait learn it. */
  readonly onFailed: (error: Error) => void;
}

/** What became of the batch in flight. */
export type WriteOutcome = AppendResult | { readonly outcome: 'failed'; readonly cause: unknown };

interface Batch {
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

const liveTries = 4;
const commitPatienceMs = 10_000;
const retryMs = { first: 25, most: 1_000 };

export class WriteQueue {
  readonly #run: WrittenRun;
  readonly #listeners: WriteQueueListeners;
  #lastSeq: number;
  #pending: Batch | null = null;
  #inFlight: Batch | null = null;
  /** Gaps that name lost deltas: they go with the next batch. */
  #gaps: readonly UnnumberedEvent[] = [];
  #refusal: Error | null = null;
  #incomplete = false;

  constructor(run: WrittenRun, listeners: WriteQueueListeners) {
    this.#run = run;
    this.#listeners = listeners;
    this.#lastSeq = run.lastSeq;
  }

  get runId(): RunId {
    return this.#run.runId;
  }

  /** Where the stored log ends. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Why nothing more can be written, or null. */
  get refusal(): Error | null {
    return this.#refusal;
  }

  /** True while nothing waits for the store. */
  get isIdle(): boolean {
    return this.#pending === null && this.#inFlight === null;
  }

  /** True once a live event that was added will never be stored. */
  get incomplete(): boolean {
    return this.#incomplete;
  }

  get pendingBytes(): number {
    return this.#pending?.bytes ?? 0;
  }

  /** True while what is in flight has to be synced to the disk (E-802). */
  get needsSync(): boolean {
    return this.#inFlight?.committed === true;
  }

  /** How long the store is to be left alone before it is asked again; 0 unless it just failed. */
  get retryInMs(): number {
    const failures = this.#inFlight?.failures ?? 0;
    return failures === 0 ? 0 : Math.min(retryMs.most, retryMs.first * 2 ** failures);
  }

  /** Stamps a draft and takes it in, merged with the one before it where that says the same (M1). Gives the bytes it adds. */
  add(draft: EventDraft, at: number): number {
    const batch = (this.#pending ??= newBatch());
    const last = batch.events.at(-1);
    const merged = last === undefined ? undefined : mergeDeltas(last, draft);
    const { runId, sessionId, leg } = this.#run;
    if (merged === undefined) batch.events.push(stampEvent(draft, { runId, sessionId, at, leg }));
    else batch.events[batch.events.length - 1] = merged;
    const bytes = merged !== undefined && typeof draft.data === 'string' ? draft.data.length : weighEvent(draft);
    batch.bytes += bytes;
    batch.committed ||= !isLive(draft.type) && draft.type !== 'gap';
    return bytes;
  }

  /** What was added last ends the run; nothing can be written behind it. */
  end(end: NonNullable<Append['end']>): void {
    (this.#pending ??= newBatch()).end = end;
    this.refuse(new RuntimeStateError('This run has ended; nothing can be written to it.'));
  }

  /** Takes nothing more in; what is here is still stored. The first reason stays. */
  refuse(reason: Error): void {
    this.#refusal ??= reason;
  }

  /** Settles when everything added so far is stored, or lost by name (Q3). */
  async stored(): Promise<void> {
    const last = this.#pending ?? this.#inFlight;
    if (last !== null) await (last.stored ??= Promise.withResolvers()).promise;
  }

  /** Puts the next batch in flight, unless one still is, and gives what the store is to append. */
  nextEntry(): Append {
    const batch = this.#inFlight ?? this.#pending ?? newBatch();
    if (this.#inFlight === null) {
      batch.events.unshift(...this.#gaps);
      [this.#inFlight, this.#pending, this.#gaps] = [batch, null, []];
    }
    const { runId, generation } = this.#run;
    const { events, end } = batch;
    return { runId, generation, after: this.#lastSeq, events, ...(end && { end }) };
  }

  settle(outcome: WriteOutcome, nowMs: number): void {
    const batch = this.#inFlight;
    if (batch === null) return;
    const { runId } = this.#run;
    switch (outcome.outcome) {
      case 'stored':
        this.#inFlight = null;
        this.#lastSeq += outcome.events.length;
        this.#listeners.onStored(outcome.events, batch.bytes);
        return batch.stored?.resolve();
      case 'lease-lost':
        return this.#fail(new LeaseLostError(runId));
      case 'wrong-position':
        return this.#fail(new StorageError(`The log of ${runId} ends at ${outcome.lastSeq}, not at ${this.#lastSeq}.`));
      case 'failed':
        return outcome.cause instanceof StorageError
          ? this.#retryLater(batch, outcome.cause, nowMs)
          : this.#fail(new StorageError('An event cannot be stored.', { cause: outcome.cause }));
    }
  }

  #retryLater(batch: Batch, cause: StorageError, nowMs: number): void {
    if (batch.failures === 0) batch.firstFailureMs = nowMs;
    batch.failures += 1;
    if (!cause.retryable) return this.#fail(cause);
    if (batch.committed || this.#pending?.end !== undefined) {
      if (nowMs - batch.firstFailureMs >= commitPatienceMs) this.#fail(cause);
    } else if (batch.failures >= liveTries) this.#loseDeltas(batch);
  }

  #fail(error: Error): void {
    const lost = [this.#inFlight, this.#pending];
    [this.#inFlight, this.#pending, this.#refusal, this.#incomplete] = [null, null, error, true];
    this.#listeners.onFailed(error);
    for (const batch of lost) batch?.stored?.reject(error);
  }

  /** Drops a batch of live events; what is written next begins with one gap for each of their attempts (Q3). */
  #loseDeltas(batch: Batch): void {
    [this.#inFlight, this.#gaps, this.#incomplete] = [null, gapsFor(batch.events), true];
    batch.stored?.resolve();
  }
}

function newBatch(): Batch {
  return { events: [], bytes: 0, committed: false, end: undefined, stored: null, failures: 0, firstFailureMs: 0 };
}

function gapsFor(lost: readonly UnnumberedEvent[]): readonly UnnumberedEvent[] {
  const gaps = new Map<string, UnnumberedEvent>();
  for (const event of lost) {
    if (event.type === 'waiting') continue;
    const { step, attempt } = event;
    const data = { reason: 'deltas_lost', step, attempt } as const;
    const key = `${event.type === 'gap' ? event.data.reason : data.reason}:${step}:${attempt}`;
    gaps.set(key, event.type === 'gap' ? event : stampEvent({ type: 'gap', step, attempt, data }, event));
  }
  return [...gaps.values()];
}
