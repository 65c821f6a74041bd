// One turn of a foreign runtime, from its first fact to the run's result: the effects around the book.
//
// V1. A gate is answered once: after the intent is durable, and before that never (E-532).
// V2. While a person is asked and nothing runs, the run is parked and the runtime waits, its process kept (H-042).
// V3. A cancel answers open gates, interrupts, and ends the whole tree; the result is written when the tree is gone, at most
//     ten seconds after (H-060). Meanwhile nothing is shown any more (H-066).
// V4. Every phase has a limit on silence; what passes it is ended and said to be stuck (H-110).
// V5. An ending that somebody's word overtook is none: the word is the runtime's next prompt (E-661).
// V6. Who leaves, by whatever way, has seen the end of the tree before he is gone (H-137).

import { parkRun, type Ending } from '../../core/closing.ts';
import { evolve, isOpen, type RunState } from '../../core/run-state.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { EventDraft, RunEvent } from '../../core/run-event.ts';
import { folded, groupsOf, type Taken } from './turn-groups.ts';
import { harnessError, lastSaid, roundsAreSpent, roundsEnding, timeEnding } from './turn-endings.ts';
import { settleAnswers } from './settle-answers.ts';
import { sleep, type Clock } from '../../core/clock.ts';
import { spentBudget } from '../../core/budgets.ts';
import { stopOf } from '../../core/stop-turn.ts';
import { userText } from '../../core/user-text.ts';
import { within } from '../../core/within.ts';
import type { GateRequest, TurnBook } from './turn-book.ts';
import type { GateWord, NativeSession, NativeTurn } from './runtime.ts';
import type { Judgement } from './judge.ts';
import type { Logger } from '../../core/logger.ts';
import type { NativeEnd, NativeFact } from './native-fact.ts';
import type { RunMeter } from '../relay/run-meter.ts';
import type { TurnOptions } from '../harness.ts';

/** A native turn that is under way, kept over a park. */
export interface LiveTurn {
  readonly session: NativeSession & {
    /** No call to a model begins any more; one that is under way may end by itself, and is cut soon after (H-060). */
    cutOff(): void;
    /** Of its lease. */
    readonly meter: Pick<RunMeter, 'begin' | 'cut' | 'beyond'>;
    /** Why it has failed, where that is better known than by what it said; null: it is not. */
    whyEnded(): Promise<string | null>;
  };
  turn: NativeTurn;
  readonly book: TurnBook;
  /** Messages of people that the runtime has got. */
  readonly told: Set<string>;
  /** Facts that are waited for: what comes is nobody else's, over a park too. */
  coming: Promise<readonly NativeFact[]> | null;
  /** Gates that wait for an answer, with the approval that will give it; null: held for a pause. */
  readonly waiting: Map<string, { readonly gate: GateRequest; readonly approvalId: string | null }>;
}

/** Longest silences, in seconds (H-110). */
export interface SilenceLimits {
  readonly firstSeconds: number;
  readonly modelSeconds: number;
  readonly toolSeconds: number;
}

export interface DriveOptions extends Pick<TurnOptions, 'signal' | 'pause' | 'outside'> {
  readonly live: LiveTurn;
  readonly label: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly silence: SilenceLimits;
  judge(request: GateRequest, state: RunState): Promise<Judgement>;
  /** The turn is kept, whoever stops listening after this; or it goes on after all. */
  keep(live: LiveTurn | null): void;
}

const holdMs = 2_000;
const interruptMs = 3_000;
/** Within the time that a host gives: what is left is named then, and not that nobody knows (H-060). */
const stopMs = 8_900;

type Drive<T = void> = AsyncGenerator<readonly EventDraft[], T, Taken>;

/**
 * Yields until the leg is over: its last group is the result, and a host asks for nothing after that. Without a result the
 * server is being stopped, and the run is another's.
 */
export async function* driveTurn(state: RunState, options: DriveOptions): Drive {
  const driver = new TurnDriver(state, options);
  try {
    yield* driver.run();
  } finally {
    await driver.leave();
  }
}

type Happening =
  | { readonly is: 'facts'; readonly facts: readonly NativeFact[] }
  | { readonly is: 'outside'; readonly event: RunEvent | null }
  | { readonly is: 'stop' }
  | { readonly is: 'time'; readonly why: 'hold' | 'silence' };

class TurnDriver {
  readonly #o: DriveOptions;
  readonly #live: LiveTurn;
  #state: RunState;
  #heard = false;
  /** Of the work; that the connection lives is another figure (H-110). */
  #progressAtMs: number;
  /** A call was asked for that has no round any more (H-081). */
  #isOutOfRounds = false;
  /** Whether the native turn goes on. */
  #isWorking = true;
  #outside: Promise<Happening> | null = null;
  readonly #outsideEvents: AsyncIterator<RunEvent>;
  readonly #left = new AbortController();
  readonly #stopped: Promise<Happening>;

  constructor(state: RunState, options: DriveOptions) {
    this.#o = options;
    this.#live = options.live;
    this.#state = state;
    this.#progressAtMs = options.clock.now();
    this.#live.book.fold(state);
    this.#outsideEvents = options.outside(this.#left.signal)[Symbol.asyncIterator]();
    const { signal } = options;
    this.#stopped = new Promise((resolve) => {
      if (signal.aborted) resolve({ is: 'stop' });
      const onAbort = () => resolve({ is: 'stop' });
      signal.addEventListener('abort', onAbort, { once: true });
      this.#left.signal.addEventListener('abort', () => signal.removeEventListener('abort', onAbort), { once: true });
    });
  }

  /** Nothing of it listens any more, and what nobody hears is not left at work (V6). */
  async leave(): Promise<void> {
    this.#left.abort();
    this.#outsideEvents.return?.().catch(() => undefined);
    if (this.#isWorking) await within(this.#live.session.stop(), { clock: this.#o.clock, ms: stopMs });
  }

  async *run(): Drive {
    this.#tellUnread();
    yield* this.#settle();
    for (;;) {
      if (yield* this.#parkIfIdle()) return;
      const next = await this.#next();
      switch (next.is) {
        case 'stop': {
          // Its process ends with this one, and is resumed by whoever goes on.
          if (stopOf(this.#o.signal) !== 'shutdown') yield* this.#stop();
          return;
        }
        case 'time':
          if (next.why === 'hold') yield* this.#write(this.#live.book.acceptAsKnown(this.#o.clock.now()));
          else {
            return yield* this.#endStuck();
          }
          break;
        case 'outside':
          yield* this.#hear(next.event);
          break;
        case 'facts': {
          this.#heard = true;
          const end = yield* this.#take(next.facts);
          if (end !== null && (yield* this.#finish(end))) return;
          break;
        }
      }
      if (yield* this.#stopForBudget()) return;
    }
  }

  /** What happens next, of all that can. */
  async #next(): Promise<Happening> {
    const live = this.#live;
    live.coming ??= live.turn.facts.take();
    const facts = live.coming.then((each): Happening => ({ is: 'facts', facts: each }));
    this.#outside ??= this.#outsideEvents
      .next()
      .then(({ value, done }) => ({ is: 'outside', event: done === true ? null : value }));
    const timer = new AbortController();
    const sources = [this.#stopped, facts, this.#outside];
    const limit = this.#limit();
    if (limit !== null)
      sources.push(sleep(this.#o.clock, limit.ms, timer.signal).then(() => ({ is: 'time', why: limit.why })));
    const next = await Promise.race(sources);
    timer.abort();
    if (next.is === 'facts') live.coming = null;
    if (next.is === 'facts' || (next.is === 'outside' && next.event?.type === 'approval-decided'))
      this.#progressAtMs = this.#o.clock.now();
    // One that has ended stays as it is, and is not asked again.
    if (next.is === 'outside') this.#outside = next.event === null ? new Promise(() => {}) : null;
    return next;
  }

  #limit(): { readonly ms: number; readonly why: 'hold' | 'silence' } | null {
    const { book, waiting } = this.#live;
    if (book.isHolding) return { ms: holdMs, why: 'hold' };
    const { firstSeconds, modelSeconds, toolSeconds } = this.#o.silence;
    if (waiting.size > 0 && !book.isRunningCall) return null;
    const silence = (seconds: number, sinceMs = this.#progressAtMs) =>
      ({ ms: Math.max(0, sinceMs + seconds * 1_000 - this.#o.clock.now()), why: 'silence' }) as const;
    if (!this.#heard) return silence(firstSeconds);
    if (book.isRunningCall) return silence(toolSeconds);
    const stage = this.#state.open?.stage;
    return silence(modelSeconds, Math.max(this.#progressAtMs, stage?.at === 'backoff' ? stage.untilMs : 0));
  }

  async *#yieldGroups(drafts: readonly EventDraft[]): Drive {
    for (const group of groupsOf(drafts)) {
      const taken = yield group;
      for (const event of taken ?? []) this.#tell(event);
      this.#state = folded(this.#state, group, { taken, nowMs: this.#o.clock.now() });
    }
    this.#live.book.fold(this.#state);
  }

  async *#write({ drafts, gates }: { drafts: readonly EventDraft[]; gates: readonly GateRequest[] }): Drive {
    yield* this.#yieldGroups(drafts);
    // Of a reply that was given up: nobody will hear of them (H-044).
    for (const { request } of this.#live.book.dropped()) this.#live.turn.answer(request, { say: 'cancelled' });
    for (const gate of gates) yield* this.#openGate(gate);
  }

  /** Facts to their end, if it is among them; what comes after it is dropped (H-100). */
  async *#take(facts: readonly NativeFact[]): Drive<NativeEnd | null> {
    const at = facts.findIndex(({ is }) => is === 'ended');
    const kept = at === -1 ? facts : facts.slice(0, at);
    for (const fact of kept) if (fact.is === 'gate-closed') this.#live.waiting.delete(fact.request);
    yield* this.#write(this.#live.book.take(kept, this.#o.clock.now()));
    const end = facts[at];
    return end?.is === 'ended' ? end.end : null;
  }

  async *#openGate(gate: GateRequest): Drive {
    const { turn, book, waiting } = this.#live;
    const nowMs = this.#o.clock.now();
    if (this.#o.pause.aborted) return void waiting.set(gate.request, { gate, approvalId: null });
    if (gate.is === 'question') {
      if (this.#state.config?.permissions?.questions !== true)
        return yield* this.#refuse(gate, { say: 'answers', answers: null }, 'Nobody can answer questions here.');
      const pending = book.ask(gate.call, nowMs, gate.questions);
      yield* this.#yieldGroups([this.#asked(pending)]);
      return void waiting.set(gate.request, { gate, approvalId: pending.approvalId });
    }
    if (roundsAreSpent(this.#state)) {
      // Not answered in the log: its item stays incomplete, and the run ends with it (UD-02).
      this.#isOutOfRounds = true;
      return turn.answer(gate.request, { say: 'cancelled' });
    }
    const judgement = await this.#o.judge(gate, this.#state);
    switch (judgement.level) {
      case 'allow': {
        yield* this.#yieldGroups(book.begin(gate.call, judgement.authority));
        return turn.answer(gate.request, { say: 'allow' });
      }
      case 'deny': {
        const note = 'Not run. The permissions of this agent do not allow this call.';
        return yield* this.#refuse(gate, { say: 'deny', note }, note);
      }
      case 'ask': {
        const pending = book.ask(gate.call, nowMs);
        yield* this.#yieldGroups([this.#asked(pending)]);
        waiting.set(gate.request, { gate, approvalId: pending.approvalId });
      }
    }
  }

  #asked(pending: ReturnType<TurnBook['ask']>): EventDraft {
    return { type: 'approval-required', data: pending, step: this.#state.step, attempt: 0 };
  }

  async *#refuse(gate: GateRequest, word: GateWord, content: string): Drive {
    yield* this.#yieldGroups(this.#live.book.refuse(gate.call, { outcome: 'denied', content }));
    this.#live.turn.answer(gate.request, word);
  }

  /** Answers every gate on which a word has come (V1). */
  async *#settle(): Drive {
    const { waiting, turn, book } = this.#live;
    for (const [request, { gate, approvalId }] of waiting) {
      if (approvalId === null) {
        if (this.#o.pause.aborted) continue;
        waiting.delete(request);
        yield* this.#openGate(gate);
        continue;
      }
      const entry = this.#state.pending.find((each) => each.approvalId === approvalId);
      if (entry === undefined || entry.decided === null) continue;
      waiting.delete(request);
      const said = settleAnswers(gate, entry);
      const drafts =
        said.word.say === 'allow'
          ? book.begin(gate.call, `approval:${approvalId}`)
          : book.refuse(gate.call, { outcome: said.outcome, content: said.content });
      yield* this.#yieldGroups(drafts);
      turn.answer(request, said.word);
    }
  }

  /** V2. A word that came first is acted on instead. */
  async *#parkIfIdle(): Drive<boolean> {
    const { waiting, book } = this.#live;
    if (waiting.size === 0 || book.isRunningCall || book.isHolding) return false;
    yield* this.#settle();
    const isAsked = this.#state.pending.some(isOpen);
    if (waiting.size === 0 || book.isRunningCall || (!isAsked && !this.#o.pause.aborted)) return false;
    this.#isWorking = false;
    this.#o.keep(this.#live);
    const status = isAsked ? 'awaiting-input' : 'paused';
    yield* this.#yieldGroups(parkRun(this.#state, { status }, this.#o.clock.now()));
    if (this.#state.result !== null) return true;
    this.#isWorking = true;
    this.#o.keep(null);
    yield* this.#settle();
    return false;
  }

  /** The log holds it already; here it is only noticed. */
  async *#hear(event: RunEvent | null): Drive {
    if (event !== null) this.#tell(event);
    if (event?.type === 'approval-decided') {
      this.#state = evolve(this.#state, event);
      this.#live.book.fold(this.#state);
      yield* this.#settle();
    }
  }

  /** A message of a person, once, whichever way it was met first (H-050). */
  #tell(event: RunEvent): void {
    if (event.type !== 'user-message' || event.data.mode !== 'steer') return;
    const { told } = this.#live;
    if (told.has(event.data.messageId)) return;
    told.add(event.data.messageId);
    this.#steer(userText(event.data.content));
  }

  /** What was said while the turn waited. */
  #tellUnread(): void {
    const { told } = this.#live;
    const unread = this.#state.unread.filter((id) => !told.has(id));
    if (unread.length === 0) return;
    for (const id of unread) told.add(id);
    this.#steer(userText(lastSaid(this.#state, unread.length)));
  }

  #steer(text: string): void {
    const steered = this.#live.turn.steer?.(text);
    steered?.catch((cause: unknown) => this.#o.logger.warn('A runtime took no message.', { cause: String(cause) }));
  }

  /** True: the run is over. False: somebody spoke before it was, and the runtime goes on with that (V5). */
  async *#finish(end: NativeEnd): Drive<boolean> {
    const { book, waiting } = this.#live;
    this.#isWorking = false;
    waiting.clear();
    const nowMs = this.#o.clock.now();
    if (book.isHolding) {
      const { drafts, gates } = book.acceptAsKnown(nowMs);
      yield* this.#yieldGroups(drafts);
      for (const { call } of gates)
        yield* this.#yieldGroups(book.refuse(call, { outcome: 'cancelled', content: 'Not run: the turn ended.' }));
    }
    const { open } = this.#state;
    if (end.as === 'completed' && open !== null && open.stage.at !== 'accepted')
      yield* this.#yieldGroups(
        book.take([{ is: 'reply-accepted', finishReason: 'end-turn', raw: null, usage: null }], nowMs).drafts,
      );
    const ending = await this.#endingOf(end);
    if (end.as !== 'completed') {
      yield* this.#endWith(ending);
      return true;
    }
    while (this.#state.unread.length === 0) {
      this.#settleUsage();
      yield* this.#yieldGroups(book.end(ending, this.#o.clock.now()));
      if (this.#state.result !== null) return true;
    }
    this.#settleUsage();
    yield* this.#yieldGroups(book.endStep(nowMs));
    const { unread } = this.#state;
    for (const id of unread) this.#live.told.add(id);
    this.#live.turn = this.#live.session.prompt({ content: lastSaid(this.#state, unread.length) });
    this.#isWorking = true;
    this.#live.coming = null;
    this.#heard = false;
    return false;
  }

  /** An ending that a word overtook stands after it: this one is final. */
  async *#endWith(ending: Ending): Drive {
    while (this.#state.result === null) {
      this.#settleUsage();
      yield* this.#yieldGroups(this.#live.book.end(ending, this.#o.clock.now()));
    }
  }

  #settleUsage(): void {
    this.#live.book.settleUsage((known) => this.#live.session.meter.beyond(known));
  }

  async #endingOf(end: NativeEnd): Promise<Ending> {
    switch (end.as) {
      case 'completed': {
        if (roundsAreSpent(this.#state) && (this.#state.open?.calls.length ?? 0) > 0) return roundsEnding(this.#state);
        const stopReason =
          end.stopReason ?? this.#state.open?.finishReason ?? this.#state.last?.finishReason ?? 'end-turn';
        return { status: 'completed', stopReason };
      }
      case 'limited':
        return { status: 'completed', stopReason: end.stopReason, budget: end.budget };
      case 'interrupted':
        return this.#failed(harnessError('The agent was interrupted, and not by this server.'));
      case 'failed':
        // Refused for a spent budget, it could only fail (H-204).
        return this.#live.session.meter.cut ?? this.#failed(end.error);
    }
  }

  async #failed(error: ErrorInfo): Promise<Ending> {
    const why = await this.#live.session.whyEnded();
    return { status: 'failed', error: why === null ? error : harnessError(why) };
  }

  async *#stopForBudget(): Drive<boolean> {
    if (this.#isOutOfRounds) {
      await this.#quiet();
      yield* this.#endWith(roundsEnding(this.#state));
      return true;
    }
    const { open } = this.#state;
    if (open !== null && open.stage.at !== 'accepted') return false;
    const spent = spentBudget(this.#state) ?? this.#live.session.meter.cut;
    if (spent === null || this.#state.last === null) return false;
    await this.#quiet();
    yield* this.#endWith(spent);
    return true;
  }

  /** V3. */
  async *#stop(): Drive {
    const unstopped = await this.#quiet();
    const nowMs = this.#o.clock.now();
    const ending: Ending =
      stopOf(this.#o.signal) === 'time' ? timeEnding(this.#state, nowMs) : { status: 'cancelled', unstopped };
    yield* this.#endWith(ending);
  }

  /** V4. */
  async *#endStuck(): Drive {
    const phase = !this.#heard ? 'its start' : this.#live.book.isRunningCall ? 'a tool call' : 'a model call';
    const { session, turn } = this.#live;
    const nowMs = this.#o.clock.now();
    const { heardAtMs = null } = turn.facts;
    const heardSecondsAgo = heardAtMs === null ? null : Math.round((nowMs - heardAtMs) / 1_000);
    const isConnected = heardAtMs !== null && heardAtMs > this.#progressAtMs;
    await this.#quiet();
    session.gone.then(
      (said) =>
        this.#o.logger.warn('A runtime was silent for too long.', {
          harness: this.#o.label,
          phase,
          heardSecondsAgo,
          said,
        }),
      () => undefined,
    );
    const beyond = isConnected ? ' beyond its heartbeat' : '';
    const error = harnessError(`${this.#o.label} gave no sign of life during ${phase}${beyond} and was stopped.`);
    yield* this.#endWith({ status: 'failed', error });
  }

  /** Interrupts, waits for the native end, and ends the tree. Gives what is still there. */
  async #quiet(): Promise<readonly string[]> {
    const { turn, waiting, session } = this.#live;
    for (const request of waiting.keys()) turn.answer(request, { say: 'cancelled' });
    waiting.clear();
    turn.interrupt();
    session.cutOff();
    const { clock } = this.#o;
    await within(this.#nativeEnd(), { clock, ms: interruptMs });
    const stopping = session.stop();
    this.#isWorking = false;
    await within(stopping, { clock, ms: stopMs - interruptMs });
    const outcome = await Promise.race([stopping, Promise.resolve(null)]);
    return outcome?.unstopped ?? [`${this.#o.label} has not confirmed that it stopped.`];
  }

  async #nativeEnd(): Promise<void> {
    const { turn, coming } = this.#live;
    for (let facts = await (coming ?? turn.facts.take()); facts.length > 0; facts = await turn.facts.take())
      if (facts.some(({ is }) => is === 'ended')) return;
  }
}
