import type { Clock } from '../core/clock.ts';

export interface Repeated {
  /** No further round begins; resolves when the one under way is over. Idempotent. */
  stop(): Promise<void>;
}

/** Does the work every `everyMs`, one round after the other and never two at once. A round that fails is reported. */
export function repeat(
  clock: Clock,
  o: {
    readonly everyMs: number;
    readonly work: (signal: AbortSignal) => Promise<unknown>;
    readonly onFailure: (cause: unknown) => void;
  },
): Repeated {
  const stopped = new AbortController();
  let round: Promise<void> = Promise.resolve();
  let cancel = () => {};
  const arm = () => {
    cancel = clock.timer(o.everyMs, () => {
      round = o
        .work(stopped.signal)
        .then(() => {}, o.onFailure)
        .finally(() => {
          if (!stopped.signal.aborted) arm();
        });
    });
  };
  arm();
  return {
    async stop() {
      stopped.abort();
      cancel();
      await round;
    },
  };
}
