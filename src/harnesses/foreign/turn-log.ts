import { evolve, type RunState } from '../../core/run-state.ts';
import { folded, groupsOf, type Taken } from './turn-groups.ts';
import type { Clock } from '../../core/clock.ts';
import type { EventDraft, RunEvent } from '../../core/run-event.ts';
import type { TurnBook } from './turn-book.ts';

/** Yields groups of drafts, and is told what the log has taken in. */
export type Drive<T = void> = AsyncGenerator<readonly EventDraft[], T, Taken>;

interface TurnLogOptions {
  readonly book: TurnBook;
  readonly clock: Clock;
  /** Each group before it is yielded. */
  readonly onWrite: (group: readonly EventDraft[]) => void;
  /** Each event that the log has taken in, and each of somebody else's. */
  readonly onEvent: (event: RunEvent) => void;
}

/** The log of a run while a turn of it goes on: the state as of now, and the one way to write. */
export class TurnLog {
  readonly #o: TurnLogOptions;
  #state: RunState;

  constructor(state: RunState, options: TurnLogOptions) {
    this.#o = options;
    this.#state = state;
    options.book.fold(state);
  }

  get state(): RunState {
    return this.#state;
  }

  async *write(drafts: readonly EventDraft[]): Drive {
    const { book, clock, onWrite, onEvent } = this.#o;
    for (const group of groupsOf(drafts)) {
      onWrite(group);
      const taken = yield group;
      for (const event of taken ?? []) onEvent(event);
      this.#state = folded(this.#state, group, { taken, nowMs: clock.now() });
    }
    book.fold(this.#state);
  }

  /** Somebody else's: the log holds it already, and here it is only noticed. */
  notice(event: RunEvent): void {
    this.#o.onEvent(event);
    if (event.type !== 'approval-decided') return;
    this.#state = evolve(this.#state, event);
    this.#o.book.fold(this.#state);
  }
}
