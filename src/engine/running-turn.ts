import { deadlineOf } from '../core/run-state.ts';
import { StopTurn } from '../core/stop-turn.ts';
import type { Clock } from '../core/clock.ts';
import type { RunLoopOptions } from './run-loop.ts';

/** So long after a stop, what was begun is waited for: more than any tool gets, less than a host waits for its harness (E-816). */
const quietMs = 8_000;

export class NotQuiet extends Error {
  constructor() {
    super('Something that the run had begun did not stop in time; it may still be running.');
  }
}

interface RunningTurn extends Disposable {
  /** The caller's, or the run's time budget, whichever comes first. */
  readonly signal: AbortSignal;
  readonly isQuiet: boolean;
  /** The promise, or a `NotQuiet` where it has not settled in time after a stop. One at a time. */
  wait<T>(promise: Promise<T>): Promise<T>;
}

/** The turn's own stop signal, and the patience with what it stops. */
export function startTurn(clock: Clock, { signal, state }: Pick<RunLoopOptions, 'signal' | 'state'>): RunningTurn {
  const turn = new AbortController();
  let isQuiet = true;
  let giveUp = () => {};
  let cancelGrace = () => {};
  const onOver = () => {
    isQuiet = false;
    giveUp();
  };
  const stop = (reason: unknown) => {
    if (turn.signal.aborted) return;
    turn.abort(reason);
    cancelGrace = clock.timer(quietMs, onOver);
  };
  const follow = () => stop(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener('abort', follow);
  const deadlineMs = deadlineOf(state);
  const onTime = () => stop(new StopTurn('time'));
  const cancelTime = deadlineMs === null ? () => {} : clock.timer(Math.max(0, deadlineMs - clock.now()), onTime);
  return {
    signal: turn.signal,
    get isQuiet() {
      return isQuiet;
    },
    wait: (promise) =>
      new Promise((resolve, reject) => {
        giveUp = () => reject(new NotQuiet());
        if (!isQuiet) giveUp();
        promise.then(resolve, reject);
      }),
    [Symbol.dispose]() {
      signal.removeEventListener('abort', follow);
      cancelTime();
      cancelGrace();
      // The loop is left: whatever still works for it has nobody to report to.
      turn.abort(new StopTurn('shutdown'));
    },
  };
}
