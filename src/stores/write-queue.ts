// What one writer has taken in and the store does not have yet. Owns each batch from its first event until it is stored or
// given up; when the store is asked is `group-commit.ts`, what a run may write at all is `run-writer.ts`.
//
// Q1. Batches are stored in the order they were written; at most one is in flight, and only the one behind it grows.
// Q2. A batch is reported stored after the store said so and its events were published, never before (E-007).
// Q3. A batch of live events that the store cannot take is tried four times, then dropped, and its loss is named by a gap
//     in the next batch (E-143). One that holds a committed event, or that an ending waits behind, is tried for
//     `commitPatienceMs`; then the queue fails for good. So nothing is lost any more once the end was given.
// Q4. Facts from outside that came in first are met where they stand: published, and the batch goes on behind them (E-801).
//     A batch that stands there itself was stored by a try that seemed to fail. Anything else breaks the fence.
// Q5. An ending, of the run or of its leg, is a batch of its own and the last. It is stored only if its writer was told of
//     every fact before it; else it is withdrawn whole, and the queue takes more in (E-661).
// Q6. Every committed event but gaps, one's own or met, is told once, in the order of the log, to who waits for one.
// Q7. What can never be stored is tried once. Live events are lost by name as in Q3; with a committed event all that waits is
//     given up, an ending too, and its writers are told. What they write then goes on where the stored log ends.

import { LeaseLostError, RefusedEntryError, RuntimeStateError, StorageError } from '../core/errors.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import { isLive, type EventDraft, type RunEvent } from '../core/run-event.ts';
import { numberEvents, stampEvent } from './event-shape.ts';
import { weighEvent } from './event-weight.ts';
import { mergeDeltas } from './merge-deltas.ts';
import type { Append, AppendResult, UnnumberedEvent } from './store.ts';
import { gapsFor, newBatch, sizeOf, type WriteBatch } from './write-batch.ts';

/** A run as its new owner found it, and the leg that it writes. */
export interface WrittenRun {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly generation: number;
  /** Of the last event that its owner knows. */
  readonly lastSeq: number;
  readonly leg: number;
}

export interface WriteQueueListeners {
  readonly onStored: (events: readonly RunEvent[], bytes: number) => void;
  /** Called once, before those who wait learn it. */
  readonly onFailed: (error: Error) => void;
}

/** What became of the batch in flight. `met`: what the log holds behind the position that the queue believed in. */
export type WriteOutcome =
  | Exclude<AppendResult, { outcome: 'wrong-position' }>
  | { readonly outcome: 'met'; readonly events: readonly RunEvent[] }
  | { readonly outcome: 'refused' | 'failed'; readonly cause: unknown };

interface Ending {
  readonly batch: WriteBatch;
  readonly outcome: PromiseWithResolvers<'ended' | 'overtaken'>;
}

const liveTries = 4;
const commitPatienceMs = 10_000;
const retryMs = { first: 25, most: 1_000 };

export class WriteQueue {
  readonly #run: WrittenRun;
  readonly #listeners: WriteQueueListeners;
  #lastSeq: number;
  #pending: WriteBatch | null = null;
  /** Goes when nothing else is left; may be the one in flight. */
  #ending: Ending | null = null;
  #inFlight: WriteBatch | null = null;
  /** Gaps that name lost deltas: they go with the next batch. */
  #gaps: readonly UnnumberedEvent[] = [];
  /** Committed events that nobody was told of yet (Q6). */
  #untold: RunEvent[] = [];
  /** Whether a fact from outside is among them. */
  #metUntold = false;
  #refusal: Error | null = null;
  #ended = false;
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
    if (this.#refusal === null && (this.#ending !== null || this.#ended))
      return new RuntimeStateError('This run, or this leg of it, has ended; nothing can be written to it.');
    return this.#refusal;
  }

  /** True while nothing waits for the store. */
  get isIdle(): boolean {
    return this.#pending === null && this.#inFlight === null && this.#ending === null;
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
    batch.committed ||= isFact(draft.type);
    return bytes;
  }

  /** The last that is written: with `end` the run ends, without it parks. Not stored when overtaken (Q5). */
  end(drafts: readonly EventDraft[], at: number, end?: Append['end']): Promise<'ended' | 'overtaken'> {
    if (this.#metUntold) return Promise.resolve('overtaken');
    const { runId, sessionId, leg } = this.#run;
    const events = drafts.map((draft) => stampEvent(draft, { runId, sessionId, at, leg }));
    const bytes = drafts.reduce((sum, draft) => sum + weighEvent(draft), 0);
    const outcome = Promise.withResolvers<'ended' | 'overtaken'>();
    this.#ending = { batch: { ...newBatch(), events, bytes, committed: true, end }, outcome };
    return outcome.promise;
  }

  /** The committed events that nobody was told of yet, and tells them (Q6). */
  tell(): readonly RunEvent[] {
    const told = this.#untold;
    [this.#untold, this.#metUntold] = [[], false];
    return told;
  }

  /** Takes nothing more in; what is here is still stored. The first reason stays. */
  refuse(reason: Error): void {
    this.#refusal ??= reason;
  }

  /** Settles when everything added so far is stored, lost by name (Q3), or withdrawn (Q5). */
  async stored(): Promise<void> {
    if (this.#ending !== null) return void (await this.#ending.outcome.promise);
    const last = this.#pending ?? this.#inFlight;
    if (last !== null) await (last.stored ??= Promise.withResolvers()).promise;
  }

  /**
   * Puts the next batch in flight, unless one still is, and gives what the store is to append: nothing, where nothing
   * waits, which tells whether the log still ends where it is believed to end.
   */
  nextEntry(): Append {
    const batch = (this.#inFlight ??= this.#takeNext());
    const { runId, generation } = this.#run;
    const events = batch.gaps.length === 0 ? batch.events : [...batch.gaps, ...batch.events];
    return { runId, generation, after: this.#lastSeq, events, ...(batch.end && { end: batch.end }) };
  }

  #takeNext(): WriteBatch {
    const batch = this.#pending ?? this.#ending?.batch ?? newBatch();
    [batch.gaps, this.#gaps, this.#pending] = [this.#gaps, [], null];
    return batch;
  }

  settle(outcome: WriteOutcome, nowMs: number): void {
    const batch = this.#inFlight;
    if (batch === null) return;
    switch (outcome.outcome) {
      case 'stored':
        return this.#keep(batch, outcome.events);
      case 'met':
        return this.#meet(batch, outcome.events);
      case 'lease-lost':
        return this.#fail(new LeaseLostError(this.runId));
      case 'refused':
        return this.#giveUp(batch, outcome.cause);
      case 'failed':
        return outcome.cause instanceof StorageError
          ? this.#retryLater(batch, outcome.cause, nowMs)
          : this.#fail(new StorageError('The log cannot be read.', { cause: outcome.cause }));
    }
  }

  #keep(batch: WriteBatch, events: readonly RunEvent[]): void {
    this.#inFlight = null;
    this.#lastSeq += events.length;
    if (batch.committed) this.#untold.push(...events.filter(({ type }) => isFact(type)));
    if (events.length > 0) this.#listeners.onStored(events, batch.bytes);
    batch.stored?.resolve();
    if (this.#ending?.batch !== batch) return;
    [this.#ended, this.#ending] = [true, this.#resolveEnding('ended')];
  }

  /** Goes on behind facts from outside; an ending that did not know of them is withdrawn (Q4, Q5). */
  #meet(batch: WriteBatch, events: readonly RunEvent[]): void {
    if (batch.failures > 0 && this.#isStored(batch, events)) return this.#keep(batch, events.slice(0, sizeOf(batch)));
    const last = events.at(-1);
    if (last === undefined || !events.every(isFromOutside))
      return this.#fail(new StorageError(`The log of ${this.runId} does not end at ${this.#lastSeq}.`));
    this.#lastSeq = last.seq;
    this.#untold.push(...events);
    this.#metUntold = true;
    if (batch === this.#ending?.batch) [this.#inFlight, this.#gaps] = [null, batch.gaps];
    else if (sizeOf(batch) === 0) this.#inFlight = null;
    this.#listeners.onStored(
      events,
      events.reduce((sum, event) => sum + weighEvent(event), 0),
    );
    if (this.#inFlight === null) batch.stored?.resolve();
    this.#ending = this.#resolveEnding('overtaken');
  }

  #isStored(batch: WriteBatch, events: readonly RunEvent[]): boolean {
    const own = numberEvents([...batch.gaps, ...batch.events], this.#lastSeq);
    return own.length > 0 && JSON.stringify(own) === JSON.stringify(events.slice(0, own.length));
  }

  #resolveEnding(outcome: 'ended' | 'overtaken'): null {
    this.#ending?.outcome.resolve(outcome);
    return null;
  }

  #retryLater(batch: WriteBatch, cause: StorageError, nowMs: number): void {
    if (batch.failures === 0) batch.firstFailureMs = nowMs;
    batch.failures += 1;
    if (!cause.retryable) return this.#fail(cause);
    if (batch.committed || this.#ending !== null) {
      if (nowMs - batch.firstFailureMs >= commitPatienceMs) this.#fail(cause);
    } else if (batch.failures >= liveTries) this.#loseDeltas(batch);
  }

  #giveUp(batch: WriteBatch, cause: unknown): void {
    if (!batch.committed && this.#ending === null) return this.#loseDeltas(batch);
    this.#drop(new RefusedEntryError('An event cannot be stored.', { cause }));
  }

  #fail(error: Error): void {
    this.#refusal = error;
    this.#listeners.onFailed(error);
    this.#drop(error);
  }

  /** Nothing waits any more. */
  #drop(error: Error): void {
    const lost = [this.#inFlight, this.#pending].filter((batch) => batch !== null);
    const ending = this.#ending;
    [this.#inFlight, this.#pending, this.#ending, this.#incomplete] = [null, null, null, true];
    this.#gaps = gapsFor(lost.flatMap(({ gaps, events }) => [...gaps, ...events.filter(({ type }) => isLive(type))]));
    for (const batch of lost) batch.stored?.reject(error);
    ending?.outcome.reject(error);
  }

  /** Drops a batch of live events; what is written next begins with one gap for each of their attempts (Q3). */
  #loseDeltas(batch: WriteBatch): void {
    [this.#inFlight, this.#gaps] = [null, gapsFor([...batch.gaps, ...batch.events])];
    this.#incomplete ||= sizeOf(batch) > 0;
    batch.stored?.resolve();
  }
}

/** A committed event; gaps say nothing that a fold would need. */
function isFact(type: RunEvent['type']): boolean {
  return !isLive(type) && type !== 'gap';
}

/** What any process may append to a run that it does not own (L7). */
function isFromOutside({ type }: RunEvent): boolean {
  return type === 'user-message' || type === 'approval-decided';
}
