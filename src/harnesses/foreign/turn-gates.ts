// What a runtime asks before it goes on: its gates and questions, judged, put to people, and answered.
//
// G1. A gate is answered once: after the intent is durable, and before that never (E-532).
// G2. Beyond the rounds of the run no call is let through; the run ends with that (H-081).
// G3. Of a reply that was given up nobody hears: its gates are answered as cancelled, and so are those of an end (H-044).

import { isOpen, type RunState } from '../../core/run-state.ts';
import { roundsAreSpent } from './turn-endings.ts';
import { settleAnswers } from './settle-answers.ts';
import type { Clock } from '../../core/clock.ts';
import type { Drive, TurnLog } from './turn-log.ts';
import type { EventDraft } from '../../core/run-event.ts';
import type { GateRequest, TurnBook } from './turn-book.ts';
import type { GateWord } from './runtime.ts';
import type { Judgement } from './judge.ts';
import type { LiveTurn } from './live-turn.ts';

export interface GateParts {
  readonly live: LiveTurn;
  readonly clock: Clock;
  /** While it has aborted, nothing more is begun. */
  readonly pause: AbortSignal;
  judge(request: GateRequest, state: RunState): Promise<Judgement>;
}

export class TurnGates {
  readonly #o: GateParts;
  readonly #log: TurnLog;
  #isOutOfRounds = false;

  constructor(log: TurnLog, parts: GateParts) {
    this.#log = log;
    this.#o = parts;
  }

  /** A call was asked for that has no round any more (G2). */
  get isOutOfRounds(): boolean {
    return this.#isOutOfRounds;
  }

  /** Nothing runs, and a person is asked or the run is to pause. */
  get isIdle(): boolean {
    const { live, pause } = this.#o;
    if (live.waiting.size === 0 || live.book.isRunningCall || live.book.isHolding) return false;
    return pause.aborted || this.isAsking;
  }

  get isAsking(): boolean {
    return this.#log.state.pending.some(isOpen);
  }

  /** What the book has made of facts. */
  async *write({ drafts, gates }: { drafts: readonly EventDraft[]; gates: readonly GateRequest[] }): Drive {
    yield* this.#log.write(drafts);
    for (const { request } of this.#o.live.book.dropped()) this.#o.live.turn.answer(request, { say: 'cancelled' });
    for (const gate of gates) yield* this.#open(gate);
  }

  /** Answers every gate on which a word has come (G1). */
  async *settle(): Drive {
    const { live, pause } = this.#o;
    for (const [request, { gate, approvalId }] of live.waiting) {
      if (approvalId === null) {
        if (pause.aborted) continue;
        live.waiting.delete(request);
        yield* this.#open(gate);
        continue;
      }
      const entry = this.#log.state.pending.find((each) => each.approvalId === approvalId);
      if (entry === undefined || entry.decided === null) continue;
      live.waiting.delete(request);
      const said = settleAnswers(gate, entry);
      const drafts =
        said.word.say === 'allow'
          ? live.book.begin(gate.call, `approval:${approvalId}`)
          : live.book.refuse(gate.call, { outcome: said.outcome, content: said.content });
      yield* this.#log.write(drafts);
      live.turn.answer(request, said.word);
    }
  }

  cancelAll(): void {
    const { turn, waiting } = this.#o.live;
    for (const request of waiting.keys()) turn.answer(request, { say: 'cancelled' });
    waiting.clear();
  }

  async *#open(gate: GateRequest): Drive {
    const { live, pause } = this.#o;
    const { state } = this.#log;
    if (pause.aborted) return void live.waiting.set(gate.request, { gate, approvalId: null });
    if (gate.is === 'question') {
      if (state.config?.permissions?.questions === true)
        return yield* this.#ask(gate, live.book.ask(gate.call, this.#o.clock.now(), gate.questions));
      return yield* this.#refuse(gate, { say: 'answers', answers: null }, 'Nobody can answer questions here.');
    }
    if (roundsAreSpent(state)) {
      // Not answered in the log: its item stays incomplete, and the run ends with it (UD-02).
      this.#isOutOfRounds = true;
      return live.turn.answer(gate.request, { say: 'cancelled' });
    }
    const judgement = await this.#o.judge(gate, state);
    switch (judgement.level) {
      case 'allow':
        yield* this.#log.write(live.book.begin(gate.call, judgement.authority));
        return live.turn.answer(gate.request, { say: 'allow' });
      case 'deny': {
        const note = 'Not run. The permissions of this agent do not allow this call.';
        return yield* this.#refuse(gate, { say: 'deny', note }, note);
      }
      case 'ask':
        return yield* this.#ask(gate, live.book.ask(gate.call, this.#o.clock.now()));
    }
  }

  async *#ask(gate: GateRequest, pending: ReturnType<TurnBook['ask']>): Drive {
    yield* this.#log.write([{ type: 'approval-required', data: pending, step: this.#log.state.step, attempt: 0 }]);
    this.#o.live.waiting.set(gate.request, { gate, approvalId: pending.approvalId });
  }

  async *#refuse(gate: GateRequest, word: GateWord, content: string): Drive {
    const { live } = this.#o;
    yield* this.#log.write(live.book.refuse(gate.call, { outcome: 'denied', content }));
    live.turn.answer(gate.request, word);
  }
}
