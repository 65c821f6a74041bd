// How long nothing has come of a turn, what is said of it meanwhile, and how long it may last.
//
// S1. Every phase has a limit on silence: the start, a model's reply, a tool's call (H-110).
// S2. That the connection lives is another figure than that the work goes on: it is told beside it, and prolongs nothing (B147).
// S3. Within one wait the seconds that are told rise (E-132).

import type { Clock } from '../../core/clock.ts';
import type { EventDraft } from '../../core/run-event.ts';
import type { LiveTurn } from './live-turn.ts';
import type { RunState } from '../../core/run-state.ts';

/** Longest silences, in seconds (H-110). */
export interface SilenceLimits {
  readonly firstSeconds: number;
  readonly modelSeconds: number;
  readonly toolSeconds: number;
}

/** What is due after so long: facts that are held are taken as they are, a word of the wait, or its end. */
export interface Due {
  readonly ms: number;
  readonly why: 'hold' | 'notice' | 'silence';
}

const holdMs = 2_000;
const firstNoticeSeconds = 10;
const nextNoticeSeconds = 15;

export class TurnSilence {
  readonly #live: LiveTurn;
  readonly #limits: SilenceLimits;
  readonly #clock: Clock;
  #hasBegun = false;
  /** Of the work (S2). */
  #progressAtMs: number;
  #noticedSeconds = 0;

  constructor(live: LiveTurn, { limits, clock }: { readonly limits: SilenceLimits; readonly clock: Clock }) {
    this.#live = live;
    this.#limits = limits;
    this.#clock = clock;
    this.#progressAtMs = clock.now();
  }

  /** The runtime was given another prompt. */
  startOver(): void {
    this.#hasBegun = false;
  }

  /** @param of  `facts`: the runtime has told something. */
  progressed(of: 'facts' | 'decision'): void {
    this.#progressAtMs = this.#clock.now();
    if (of === 'facts') this.#hasBegun = true;
  }

  /** What is newer than a notice ends its wait (S3). */
  wrote(drafts: readonly EventDraft[]): void {
    if (drafts.some(({ type }) => type !== 'waiting')) this.#noticedSeconds = 0;
  }

  /** Null: nothing; the turn waits for a person. */
  due({ open }: RunState): Due | null {
    const { book, waiting } = this.#live;
    if (book.isHolding) return { ms: holdMs, why: 'hold' };
    if (waiting.size > 0 && !book.isRunningCall) return null;
    const { firstSeconds, modelSeconds, toolSeconds } = this.#limits;
    const backoffUntilMs = open?.stage.at === 'backoff' ? open.stage.untilMs : 0;
    const left = (seconds: number, sinceMs = this.#progressAtMs) =>
      Math.max(0, sinceMs + seconds * 1_000 - this.#clock.now());
    const ms = !this.#hasBegun
      ? left(firstSeconds)
      : book.isRunningCall
        ? left(toolSeconds)
        : left(modelSeconds, Math.max(this.#progressAtMs, backoffUntilMs));
    const noticeMs = left(this.#noticedSeconds === 0 ? firstNoticeSeconds : this.#noticedSeconds + nextNoticeSeconds);
    return noticeMs < ms ? { ms: noticeMs, why: 'notice' } : { ms, why: 'silence' };
  }

  notice({ step, open }: RunState): EventDraft {
    const { heardAtMs } = this.#live.turn.facts;
    const nowMs = this.#clock.now();
    const seconds = Math.round((nowMs - this.#progressAtMs) / 100) / 10;
    this.#noticedSeconds = seconds;
    const lastByte = typeof heardAtMs === 'number' ? { lastByteMs: nowMs - heardAtMs } : {};
    const running = open?.calls.find(({ progress }) => progress.at === 'dispatched');
    const waitsFor = open?.stage.at === 'backoff' ? 'retry' : 'model';
    const on = running === undefined ? ({ on: waitsFor } as const) : ({ on: 'tool', name: running.call.name } as const);
    return { type: 'waiting', data: { ...on, seconds, ...lastByte }, step, attempt: open?.attempt ?? 0 };
  }

  /** How the silence is told of that was too long, to its user and to the operator. */
  describe(): { readonly phase: string; readonly heardSecondsAgo: number | null; readonly isConnected: boolean } {
    const { heardAtMs = null } = this.#live.turn.facts;
    return {
      phase: !this.#hasBegun ? 'its start' : this.#live.book.isRunningCall ? 'a tool call' : 'a model call',
      heardSecondsAgo: heardAtMs === null ? null : Math.round((this.#clock.now() - heardAtMs) / 1_000),
      isConnected: heardAtMs !== null && heardAtMs > this.#progressAtMs,
    };
  }
}
