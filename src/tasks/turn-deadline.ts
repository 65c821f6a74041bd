// How long a host waits for a harness: its time budget, and a grace period once it was told to stop, whatever for.

import { StopTurn, stopOf } from '../core/stop-turn.ts';
import type { Clock } from '../core/clock.ts';

/** A harness that was told to stop has so long to end by itself; then it is left behind (E-816). */
const graceMs = 9_000;
/** A harness that keeps its own time budget ends first; this is for the others. */
const ownBudgetMs = 250;

export interface TurnDeadline extends Disposable {
  /** Aborts with the run's own signal, or when the time budget is spent. */
  readonly signal: AbortSignal;
  /** Resolves when the grace period is over, if ever. */
  readonly over: Promise<'given-up'>;
  readonly isOver: boolean;
}

/** @param dueAtMs  When the time budget is spent; null = none. */
export function startDeadline(
  clock: Clock,
  { signal, dueAtMs }: { readonly signal: AbortSignal; readonly dueAtMs: number | null },
): TurnDeadline {
  const turn = new AbortController();
  const over = Promise.withResolvers<'given-up'>();
  let isOver = false;
  let cancelGrace = () => {};
  const stop = (reason: unknown) => {
    if (turn.signal.aborted) return;
    turn.abort(reason);
    cancelGrace = clock.timer(graceMs, () => {
      isOver = true;
      over.resolve('given-up');
    });
  };
  const follow = () => stop(new StopTurn(stopOf(signal) ?? 'cancel'));
  signal.addEventListener('abort', follow);
  if (signal.aborted) follow();
  const cancelBudget =
    dueAtMs === null
      ? () => {}
      : clock.timer(Math.max(0, dueAtMs - clock.now()) + ownBudgetMs, () => stop(new StopTurn('time')));
  return {
    signal: turn.signal,
    over: over.promise,
    get isOver() {
      return isOver;
    },
    [Symbol.dispose]() {
      signal.removeEventListener('abort', follow);
      cancelBudget();
      cancelGrace();
    },
  };
}
