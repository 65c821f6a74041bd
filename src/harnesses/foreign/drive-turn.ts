// One turn of a foreign runtime, from its first fact to the run's result: the effects around the book. Gates are in
// `turn-gates.ts`, silence and progress in `turn-silence.ts`, the stop of a runtime in `quiet-native.ts`.
//
// V1. While a person is asked and nothing runs, the run is parked and the runtime waits, its process kept (H-042).
// V2. A cancel answers open gates, interrupts, and ends the whole tree; the result is written when the tree is gone, at most
//     ten seconds after (H-060). Meanwhile nothing is shown any more (H-066).
// V3. What is silent for too long is ended and said to be stuck (H-110).
// V4. An ending that somebody's word overtook is none: the word is the runtime's next prompt (E-661).
// V5. Who leaves, by whatever way, has seen the end of the tree before he is gone (H-137).

import { harnessError, lastSaid, roundsAreSpent, roundsEnding, timeEnding } from './turn-endings.ts';
import { parkRun, type Ending } from '../../core/closing.ts';
import { quietNative, stopMs } from './quiet-native.ts';
import { spentBudget } from '../../core/budgets.ts';
import { stopOf } from '../../core/stop-turn.ts';
import { TurnGates, type GateParts } from './turn-gates.ts';
import { TurnHappenings, type Happening } from './turn-happenings.ts';
import { TurnLog, type Drive } from './turn-log.ts';
import { TurnMessages } from './turn-messages.ts';
import { TurnSilence, type SilenceLimits } from './turn-silence.ts';
import { within } from '../../core/within.ts';
import type { ErrorInfo } from '../../core/outcome.ts';
import type { LiveTurn } from './live-turn.ts';
import type { Logger } from '../../core/logger.ts';
import type { NativeEnd, NativeFact } from './native-fact.ts';
import type { RunState } from '../../core/run-state.ts';
import type { TurnOptions } from '../harness.ts';

export interface DriveOptions extends GateParts, Pick<TurnOptions, 'signal' | 'outside'> {
  readonly label: string;
  readonly logger: Logger;
  readonly silence: SilenceLimits;
  /** The turn is kept, whoever stops listening after this; or it goes on after all. */
  keep(live: LiveTurn | null): void;
}

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

class TurnDriver {
  readonly #o: DriveOptions;
  readonly #live: LiveTurn;
  readonly #log: TurnLog;
  readonly #gates: TurnGates;
  readonly #messages: TurnMessages;
  readonly #silence: TurnSilence;
  readonly #happenings: TurnHappenings;
  /** Whether the native turn goes on. */
  #isWorking = true;

  constructor(state: RunState, options: DriveOptions) {
    const { live, clock, logger, silence } = options;
    this.#o = options;
    this.#live = live;
    this.#messages = new TurnMessages(live, logger);
    this.#silence = new TurnSilence(live, { limits: silence, clock });
    this.#log = new TurnLog(state, {
      book: live.book,
      clock,
      onWrite: (group) => this.#silence.wrote(group),
      onEvent: (event) => this.#messages.hear(event),
    });
    this.#gates = new TurnGates(this.#log, options);
    this.#happenings = new TurnHappenings(live, options);
  }

  /** Nothing of it listens any more, and what nobody hears is not left at work (V5). */
  async leave(): Promise<void> {
    this.#happenings[Symbol.dispose]();
    if (this.#isWorking) await within(this.#live.session.stop(), { clock: this.#o.clock, ms: stopMs });
  }

  async *run(): Drive {
    this.#messages.tellUnread(this.#log.state);
    yield* this.#gates.settle();
    for (;;) {
      if (yield* this.#parkIfIdle()) return;
      const next = await this.#happenings.next(this.#silence.due(this.#log.state));
      if ((yield* this.#meet(next)) || (yield* this.#stopForBudget())) return;
    }
  }

  /** True: the leg is over. */
  async *#meet(next: Happening): Drive<boolean> {
    switch (next.is) {
      case 'stop':
        // Where the server is stopped, its process ends with this one, and is resumed by whoever goes on.
        if (stopOf(this.#o.signal) !== 'shutdown') yield* this.#stop();
        return true;
      case 'time':
        switch (next.why) {
          case 'hold':
            yield* this.#gates.write(this.#live.book.acceptAsKnown(this.#o.clock.now()));
            return false;
          case 'notice':
            yield* this.#log.write([this.#silence.notice(this.#log.state)]);
            return false;
          case 'silence':
            yield* this.#endStuck();
            return true;
        }
      case 'outside':
        if (next.event === null) return false;
        this.#log.notice(next.event);
        if (next.event.type !== 'approval-decided') return false;
        this.#silence.progressed('decision');
        yield* this.#gates.settle();
        return false;
      case 'facts': {
        this.#silence.progressed('facts');
        const end = yield* this.#take(next.facts);
        return end !== null && (yield* this.#finish(end));
      }
    }
  }

  /** Facts to their end, if it is among them; what comes after it is dropped (H-100). */
  async *#take(facts: readonly NativeFact[]): Drive<NativeEnd | null> {
    const at = facts.findIndex(({ is }) => is === 'ended');
    const kept = at === -1 ? facts : facts.slice(0, at);
    for (const fact of kept) if (fact.is === 'gate-closed') this.#live.waiting.delete(fact.request);
    yield* this.#gates.write(this.#live.book.take(kept, this.#o.clock.now()));
    const end = facts[at];
    return end?.is === 'ended' ? end.end : null;
  }

  /** V1. A word that came first is acted on instead. */
  async *#parkIfIdle(): Drive<boolean> {
    if (this.#live.waiting.size === 0 || this.#live.book.isRunningCall || this.#live.book.isHolding) return false;
    yield* this.#gates.settle();
    if (!this.#gates.isIdle) return false;
    this.#isWorking = false;
    this.#o.keep(this.#live);
    const status = this.#gates.isAsking ? 'awaiting-input' : 'paused';
    yield* this.#log.write(parkRun(this.#log.state, { status }, this.#o.clock.now()));
    if (this.#log.state.result !== null) return true;
    this.#isWorking = true;
    this.#o.keep(null);
    yield* this.#gates.settle();
    return false;
  }

  /** True: the run is over. False: somebody spoke before it was, and the runtime goes on with that (V4). */
  async *#finish(end: NativeEnd): Drive<boolean> {
    const { book, waiting } = this.#live;
    this.#isWorking = false;
    waiting.clear();
    yield* this.#closeReply(end);
    const ending = await this.#endingOf(end);
    if (end.as !== 'completed') {
      yield* this.#endWith(ending);
      return true;
    }
    while (this.#log.state.unread.length === 0) {
      yield* this.#end(ending);
      if (this.#log.state.result !== null) return true;
    }
    this.#settleUsage();
    yield* this.#log.write(book.endStep(this.#o.clock.now()));
    const { unread } = this.#log.state;
    for (const id of unread) this.#live.told.add(id);
    this.#live.turn = this.#live.session.prompt({ content: lastSaid(this.#log.state, unread.length) });
    this.#isWorking = true;
    this.#live.coming = null;
    this.#silence.startOver();
    return false;
  }

  /** What is held is taken as it is, and what was said is whole, where the turn is. */
  async *#closeReply(end: NativeEnd): Drive {
    const { book } = this.#live;
    const nowMs = this.#o.clock.now();
    if (book.isHolding) {
      const { drafts, gates } = book.acceptAsKnown(nowMs);
      yield* this.#log.write(drafts);
      for (const { call } of gates)
        yield* this.#log.write(book.refuse(call, { outcome: 'cancelled', content: 'Not run: the turn ended.' }));
    }
    const { open } = this.#log.state;
    if (end.as !== 'completed' || open === null || open.stage.at === 'accepted') return;
    const whole = { is: 'reply-accepted', finishReason: 'end-turn', raw: null, usage: null } as const;
    yield* this.#log.write(book.take([whole], nowMs).drafts);
  }

  /** An ending that a word overtook stands after it: this one is final. */
  async *#endWith(ending: Ending): Drive {
    while (this.#log.state.result === null) yield* this.#end(ending);
  }

  async *#end(ending: Ending): Drive {
    this.#settleUsage();
    yield* this.#log.write(this.#live.book.end(ending, this.#o.clock.now()));
  }

  #settleUsage(): void {
    this.#live.book.settleUsage((known) => this.#live.session.meter.beyond(known));
  }

  async #endingOf(end: NativeEnd): Promise<Ending> {
    const { state } = this.#log;
    switch (end.as) {
      case 'completed': {
        if (roundsAreSpent(state) && (state.open?.calls.length ?? 0) > 0) return roundsEnding(state);
        const stopReason = end.stopReason ?? state.open?.finishReason ?? state.last?.finishReason ?? 'end-turn';
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
    const spent = this.#gates.isOutOfRounds ? roundsEnding(this.#log.state) : this.#spent();
    if (spent === null) return false;
    await this.#quiet();
    yield* this.#endWith(spent);
    return true;
  }

  /** Of a reply that has been shown, at its end and not before it. */
  #spent(): Ending | null {
    const { open, last } = this.#log.state;
    if (last === null || (open !== null && open.stage.at !== 'accepted')) return null;
    return spentBudget(this.#log.state) ?? this.#live.session.meter.cut;
  }

  /** V2. */
  async *#stop(): Drive {
    const unstopped = await this.#quiet();
    const nowMs = this.#o.clock.now();
    const isLate = stopOf(this.#o.signal) === 'time';
    yield* this.#endWith(isLate ? timeEnding(this.#log.state, nowMs) : { status: 'cancelled', unstopped });
  }

  /** V3. */
  async *#endStuck(): Drive {
    const { label, logger } = this.#o;
    const { phase, heardSecondsAgo, isConnected } = this.#silence.describe();
    await this.#quiet();
    this.#live.session.gone.then(
      (said) => logger.warn('A runtime was silent for too long.', { harness: label, phase, heardSecondsAgo, said }),
      () => undefined,
    );
    const beyond = isConnected ? ' beyond its heartbeat' : '';
    const error = harnessError(`${label} gave no sign of life during ${phase}${beyond} and was stopped.`);
    // Refused for a spent budget again and again, it had nothing to tell (H-204).
    yield* this.#endWith(this.#live.session.meter.cut ?? { status: 'failed', error });
  }

  async #quiet(): Promise<readonly string[]> {
    this.#gates.cancelAll();
    const unstopped = await quietNative(this.#live, this.#o);
    this.#isWorking = false;
    return unstopped;
  }
}
