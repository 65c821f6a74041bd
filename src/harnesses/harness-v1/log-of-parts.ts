// Parts that others wrote, as a run that keeps the laws of ours (P-067, P-068). Pure; nothing is run.
//
// F1. The parts are all that is known: nobody says when things happened, what was asked of the agent, or who decided. What has
//     a result has run, and so was allowed.
// F2. What they leave open is closed the way every run is closed. A turn without an end has failed (P-054).
// F3. Parts that no event says are given back beside the events: `raw`, and results before the last one.

import { applyDrafts, decidedBy, type Ending } from '../../core/closing.ts';
import { evolve, initialRunState } from '../../core/run-state.ts';
import { isRecord } from '../../protocol/parts/part-json.ts';
import { type EventDraft, type RunEvent, type TaskFacts } from '../../core/run-event.ts';
import { noBudgets } from '../../core/run-config.ts';
import { nothingUsed } from './usage-of.ts';
import { reducePart } from './reduce.ts';
import { turnBegun, type V1Setting, type V1State } from './v1-state.ts';
import { TurnBook } from '../foreign/turn-book.ts';
import type { NativeCall, NativeFact } from '../foreign/native-fact.ts';
import type { PendingTool } from '../../core/run-event.ts';
import type { RunId, SessionId } from '../../core/ids.ts';
import type { StreamPart } from '../../protocol/parts/stream-part.ts';

export interface ForeignTurn {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  /** When all of it is said to have happened, in Unix ms. */
  readonly atMs: number;
  /** Whose turn it was, for people and as the model's provider. */
  readonly label: string;
  readonly task?: TaskFacts;
}

export interface LogOfParts {
  readonly events: readonly RunEvent[];
  /** F3. */
  readonly opaque: readonly StreamPart[];
}

const cancelled = { decision: 'cancelled', by: 'engine' } as const;

/** @param parts  Of one turn. */
export function logOfParts(parts: readonly StreamPart[], turn: ForeignTurn): LogOfParts {
  return new ForeignLog(parts, turn).read();
}

class ForeignLog {
  readonly #parts: readonly StreamPart[];
  readonly #turn: ForeignTurn;
  readonly #events: RunEvent[] = [];
  readonly #opaque: StreamPart[] = [];
  readonly #setting: V1Setting;
  readonly #book: TurnBook;
  /** By call: what a person was asked and has not answered as far as the parts go. */
  readonly #asked = new Map<string, PendingTool>();
  #state: V1State = { ...turnBegun, total: nothingUsed };
  #isCancelled = false;

  constructor(parts: readonly StreamPart[], turn: ForeignTurn) {
    const { runId, sessionId, label, task } = turn;
    this.#parts = parts;
    this.#turn = turn;
    const model = parts.find((part) => part.type === 'stream-start')?.modelId ?? 'unknown';
    const mayAsk = parts.some(({ type }) => type === 'tool-approval-request');
    this.#setting = { label, model, workspace: '/', mayAsk, useKindOf: () => undefined };
    const start = { leg: 1, cause: 'submit', input: [], model: { provider: label, model }, limits: noBudgets } as const;
    const data = { ...start, ...(task === undefined ? {} : { task }) };
    this.#stamp([{ type: 'run-started', data, step: 0, attempt: 0 }]);
    this.#book = new TurnBook(this.#events.reduce(evolve, initialRunState(runId, sessionId)));
  }

  read(): LogOfParts {
    for (const part of this.#parts) {
      if (this.#state.end !== null) break;
      this.#take(part);
    }
    this.#end();
    return { events: this.#events, opaque: this.#opaque };
  }

  #stamp(drafts: readonly EventDraft[]): void {
    const { runId, sessionId, atMs: at } = this.#turn;
    for (const draft of drafts) {
      if (draft.type === 'tool-call-start') this.#decide(draft.data.id, draft.data.willRun);
      this.#events.push({ v: 1, seq: this.#events.length + 1, runId, sessionId, at, leg: 1, ...draft });
    }
  }

  /** Drafts that the book has not made. */
  #add(draft: EventDraft): void {
    this.#book.fold(applyDrafts(this.#book.state, [draft], this.#turn.atMs));
    this.#stamp([draft]);
  }

  #take(part: StreamPart): void {
    if (part.type === 'raw' || (part.type === 'tool-result' && part.preliminary === true)) {
      this.#opaque.push(part);
      return;
    }
    if (part.type === 'error' && isRecord(part.error)) this.#isCancelled = part.error['name'] === 'RunCancelled';
    // Whoever ran a call, it was not us: it waits for its result here. One of the host's was never asked for.
    const isHosted = part.type === 'tool-call' && part.providerExecuted !== true;
    const [state, facts] = reducePart(this.#state, isHosted ? { ...part, providerExecuted: true } : part, {
      ...this.#setting,
      mayAsk: this.#setting.mayAsk && !isHosted,
    });
    this.#state = state;
    for (const fact of facts) this.#note(fact);
  }

  #note(fact: NativeFact): void {
    if (fact.is === 'gate' || fact.is === 'call-ended') this.#accept();
    this.#write(this.#book.take([fact], this.#turn.atMs));
  }

  /** What is asked about a reply, or answers it, says that it is whole. */
  #accept(): void {
    const stage = this.#book.state.open?.stage.at;
    if (stage !== undefined && stage !== 'accepted') this.#write(this.#book.acceptAsKnown(this.#turn.atMs));
  }

  #write({ drafts, gates }: ReturnType<TurnBook['take']>): void {
    this.#stamp(drafts);
    for (const { call } of gates) this.#ask(call);
  }

  #ask(call: NativeCall): void {
    const entry = this.#book.state.open?.calls.find((each) => each.call.id === call.id);
    if (entry?.progress.at !== 'written' || this.#asked.has(call.id)) return;
    const pending = this.#book.ask(call, this.#turn.atMs);
    this.#asked.set(call.id, pending);
    this.#add({ type: 'approval-required', data: pending, step: this.#book.state.step, attempt: 0 });
  }

  /** F1. */
  #decide(callId: string, isRun: boolean): void {
    const pending = this.#asked.get(callId);
    if (pending === undefined) return;
    this.#asked.delete(callId);
    const { step } = pending;
    this.#add(decidedBy(pending, isRun ? { decision: 'approve', by: 'harness', step } : { ...cancelled, step }));
  }

  /** F2. */
  #end(): void {
    const { atMs } = this.#turn;
    if (this.#book.isHolding) this.#accept();
    const ending = this.#ending();
    const { open } = this.#book.state;
    if (ending.status === 'completed' && open !== null && open.stage.at !== 'accepted')
      this.#note({ is: 'reply-accepted', finishReason: ending.stopReason, raw: null, usage: null });
    const drafts = this.#book.end(ending, atMs);
    // The closing rule decides what is open.
    this.#asked.clear();
    this.#stamp(drafts);
  }

  #ending(): Ending {
    const { end } = this.#state;
    const { open, last } = this.#book.state;
    if (this.#isCancelled) return { status: 'cancelled' };
    if (end?.as === 'failed') return { status: 'failed', error: end.error };
    if (end?.as === 'completed') {
      const known = open?.finishReason ?? last?.finishReason;
      return { status: 'completed', stopReason: end.stopReason ?? known ?? 'end-turn' };
    }
    const message = `${this.#turn.label} stopped without an end.`;
    return { status: 'failed', error: { type: 'IncompleteStreamError', message, retryable: true } };
  }
}
