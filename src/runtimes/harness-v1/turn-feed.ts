// One look of a host at a run: parts from its log, from the beginning or from a place behind it.
//
// F1. Nothing is given out twice, and nothing is left out, between a look that was ended and the next one (P-082): a look
//     ends behind an event, never within one. The next one begins at the first event that still waits for the host, which
//     reads no further than that.
// F2. A look begins with the newest that is known of each request, so that it shows none that is decided (P-091).
// F3. Looking stops nothing but by its signal: that cancels the run, and the look ends when the run has.

import { RuntimeStateError } from '../../core/errors.ts';
import { TurnParts, type TurnPartsOptions } from './turn-parts.ts';
import type { PendingTool, RunEvent } from '../../core/run-event.ts';
import type { Runtime } from '../runtime.ts';
import type { StreamPart } from '../../protocol/parts/stream-part.ts';

export interface TurnFeedOptions extends Omit<TurnPartsOptions, 'isSettled' | 'outputOf'> {
  readonly runtime: Runtime;
  readonly runId: string;
  /** Number of the last event that was given out; null: none was. */
  readonly after: number | null;
  readonly signal: AbortSignal | undefined;
  readonly emit: (part: StreamPart) => void;
}

export class TurnFeed {
  /** Resolves at the end of the turn or of this look at it; rejects with the signal's reason, or where the log cannot be read. */
  readonly done: Promise<void>;
  readonly #o: TurnFeedOptions;
  readonly #reading = new AbortController();
  readonly #asked = new Map<string, PromiseWithResolvers<PendingTool>>();
  readonly #outputs = new Map<string, unknown>();
  readonly #parts: TurnParts;
  #isSettled: (approvalId: string) => boolean = () => false;
  #isCaughtUp: boolean;
  /** Of the event that is read now. */
  #at = 0;
  #lastSeq: number;

  constructor(options: TurnFeedOptions) {
    this.#o = options;
    this.#isCaughtUp = options.after === null;
    this.#lastSeq = options.after ?? 0;
    this.#parts = new TurnParts({
      ...options,
      isSettled: (approvalId) => this.#isSettled(approvalId),
      outputOf: (toolCallId) => this.#outputs.get(toolCallId),
    });
    this.done = this.#run();
    // Its host may have left; the log says how the turn ended.
    this.done.catch(() => undefined);
  }

  /** Whether the turn has come to its end. */
  get isOver(): boolean {
    return this.#parts.hasEnded;
  }

  /** Behind which event a later look begins (F1). */
  get place(): number {
    return this.#parts.waitsSince ?? this.#lastSeq;
  }

  /** Ends the look; nothing is given out after that. */
  async stop(): Promise<void> {
    this.#reading.abort();
    await this.done.catch(() => undefined);
  }

  /** What the log asks about a call. @throws RuntimeStateError  The look ended before it did. */
  requestOf(toolCallId: string): Promise<PendingTool> {
    return this.#askedOf(toolCallId).promise;
  }

  /** Shown as it was, for as long as this look lasts: what the model reads of it is text. */
  noteOutput(toolCallId: string, output: unknown): void {
    this.#outputs.set(toolCallId, output);
  }

  #askedOf(toolCallId: string): PromiseWithResolvers<PendingTool> {
    const known = this.#asked.get(toolCallId) ?? Promise.withResolvers<PendingTool>();
    known.promise.catch(() => undefined);
    if (this.#reading.signal.aborted) known.reject(new RuntimeStateError('Nobody looks at this turn any more.'));
    this.#asked.set(toolCallId, known);
    return known;
  }

  async #run(): Promise<void> {
    const { runtime, runId, signal } = this.#o;
    const cancelling = Promise.withResolvers<unknown>();
    cancelling.promise.catch(() => this.#reading.abort());
    const cancel = () => cancelling.resolve(runtime.cancel(runId));
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted === true) cancel();
    try {
      await this.#readPast();
      const events = await runtime.events(runId, { follow: 'run', signal: this.#reading.signal });
      for await (const event of events) {
        if (this.#reading.signal.aborted) break;
        this.#take(event);
      }
      if (signal?.aborted !== true) return;
      await cancelling.promise;
      if (this.isOver) signal.throwIfAborted();
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#reading.abort();
      for (const { reject } of this.#asked.values())
        reject(new RuntimeStateError('Nobody looks at this turn any more.'));
    }
  }

  /** F2. */
  async #readPast(): Promise<void> {
    const { runtime, runId } = this.#o;
    if (this.#isCaughtUp) return;
    const { lastSeq } = await runtime.runs.get(runId);
    const open = await runtime.approvals.list({ runId, status: 'open', limit: 1_000 });
    const waiting = new Set<string>(open.map(({ approvalId }) => approvalId));
    this.#isSettled = (approvalId) => this.#at <= lastSeq && !waiting.has(approvalId);
  }

  #take(event: RunEvent): void {
    const { after, signal } = this.#o;
    if (after !== null && event.seq > after) this.#catchUp();
    this.#at = event.seq;
    const parts = this.#parts.push(event);
    if (event.type === 'approval-required' || event.type === 'recovery-required')
      this.#askedOf(event.data.call.id).resolve(event.data);
    if (!this.#isCaughtUp) return event.seq === after ? this.#catchUp() : undefined;
    this.#lastSeq = Math.max(this.#lastSeq, event.seq);
    // Who stopped it hears that from the promise.
    const isStopped = signal?.aborted === true && event.type === 'run-result' && event.data.status === 'cancelled';
    for (const part of parts) if (!isStopped || part.type !== 'error') this.#o.emit(part);
  }

  #catchUp(): void {
    if (this.#isCaughtUp) return;
    this.#isCaughtUp = true;
    for (const part of this.#parts.again()) this.#o.emit(part);
  }
}
