import { sleep, type Clock } from '../../core/clock.ts';
import type { Due } from './turn-silence.ts';
import type { LiveTurn } from './live-turn.ts';
import type { NativeFact } from './native-fact.ts';
import type { RunEvent } from '../../core/run-event.ts';
import type { TurnOptions } from '../harness.ts';

export type Happening =
  | { readonly is: 'facts'; readonly facts: readonly NativeFact[] }
  /** Null: nothing more comes from there. */
  | { readonly is: 'outside'; readonly event: RunEvent | null }
  | { readonly is: 'stop' }
  | { readonly is: 'time'; readonly why: Due['why'] };

/** All that can happen to a turn, one after the other. Disposed of, it listens to nothing. */
export class TurnHappenings implements Disposable {
  readonly #live: LiveTurn;
  readonly #clock: Clock;
  readonly #left = new AbortController();
  readonly #events: AsyncIterator<RunEvent>;
  readonly #stopped: Promise<Happening>;
  #outside: Promise<Happening> | null = null;

  constructor(
    live: LiveTurn,
    { signal, outside, clock }: Pick<TurnOptions, 'signal' | 'outside'> & { readonly clock: Clock },
  ) {
    this.#live = live;
    this.#clock = clock;
    this.#events = outside(this.#left.signal)[Symbol.asyncIterator]();
    this.#stopped = new Promise((resolve) => {
      const onAbort = () => resolve({ is: 'stop' });
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      this.#left.signal.addEventListener('abort', () => signal.removeEventListener('abort', onAbort), { once: true });
    });
  }

  async next(due: Due | null): Promise<Happening> {
    const live = this.#live;
    live.coming ??= live.turn.facts.take();
    const facts = live.coming.then((each): Happening => ({ is: 'facts', facts: each }));
    this.#outside ??= this.#events
      .next()
      .then(({ value, done }) => ({ is: 'outside', event: done === true ? null : value }));
    const timer = new AbortController();
    const sources = [this.#stopped, facts, this.#outside];
    if (due !== null) sources.push(sleep(this.#clock, due.ms, timer.signal).then(() => ({ is: 'time', why: due.why })));
    const next = await Promise.race(sources);
    timer.abort();
    if (next.is === 'facts') live.coming = null;
    // One that has ended stays as it is, and is not asked again.
    if (next.is === 'outside') this.#outside = next.event === null ? new Promise(() => {}) : null;
    return next;
  }

  [Symbol.dispose](): void {
    this.#left.abort();
    this.#events.return?.().catch(() => undefined);
  }
}
