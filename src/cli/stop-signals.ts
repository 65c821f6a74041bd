import { constants } from 'node:os';

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A starting process and its group may both pass one signal on; people and supervisors are slower than this. */
const sameSignalMs = 100;

export interface StopSignals {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** Feeds one signal, as the process does. */
  receive(name: (typeof stopSignals)[number]): void;
}

/**
 * The first stop signal asks for an orderly end, the second ends the process at once. One that follows within 100 ms is
 * the same one again: a terminal signals its whole group, and `bin/reins.js` passes on what it gets too.
 */
export function createStopSignals(o: {
  readonly exit: (code: number) => void;
  readonly nowMs: () => number;
}): StopSignals {
  const controller = new AbortController();
  let firstMs: number | null = null;
  return {
    signal: controller.signal,
    receive(name) {
      const nowMs = o.nowMs();
      if (firstMs === null) {
        firstMs = nowMs;
        controller.abort();
      } else if (nowMs - firstMs >= sameSignalMs) {
        o.exit(128 + constants.signals[name]);
      }
    },
  };
}

/** The stop signals of this process, from here to its end. */
export function listenForStop(): AbortSignal {
  // Elapsed time of two signals from outside: no law of Reins depends on it, so no clock is passed.
  const stop = createStopSignals({ exit: (code) => process.exit(code), nowMs: () => performance.now() });
  for (const name of stopSignals) process.on(name, () => stop.receive(name));
  return stop.signal;
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
