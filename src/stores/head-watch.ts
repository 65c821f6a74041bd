// Runs that others write and that somebody here waits for: each second one query asks where all of their logs end.
//
// D1. However many wait, and for however many runs, there is one look at a time, and none while nobody waits.
// D2. It is told of each of them; one that is gone is over. A word that is lost on its way from another node so costs a second.
// D3. A look that fails tells nothing: while the store does not answer nothing can be read there either.

import type { Clock } from '../core/clock.ts';
import type { RunId } from '../core/ids.ts';
import type { LogEnd } from './channels.ts';
import type { Store } from './store.ts';

export interface HeadWatch {
  /** Looks for one who waits, until the returned function is called. */
  watch(runId: RunId): () => void;
  /** Looks now, unless nobody waits. */
  look(): void;
  /** How many wait now. */
  readonly waiting: number;
  /** How often the store was asked so far. */
  readonly looks: number;
}

const everyMs = 1_000;
export const gone: LogEnd = { lastSeq: 0, isOver: true };

export interface HeadWatchOptions {
  readonly store: Pick<Store, 'heads'>;
  readonly clock: Clock;
  readonly onEnd: (runId: RunId, end: LogEnd) => void;
}

export function createHeadWatch({ store, clock, onEnd }: HeadWatchOptions): HeadWatch {
  const all = new Set<{ readonly runId: RunId }>();
  let state: { readonly kind: 'idle' | 'looking' } | { readonly kind: 'armed'; cancel(): void } = { kind: 'idle' };
  let looks = 0;

  function settle(): void {
    if (state.kind === 'armed' && all.size === 0) {
      state.cancel();
      state = { kind: 'idle' };
    }
    if (state.kind === 'idle' && all.size > 0) state = { kind: 'armed', cancel: clock.timer(everyMs, look) };
  }

  function look(): void {
    state = { kind: 'looking' };
    looks += 1;
    const over = () => {
      state = { kind: 'idle' };
      settle();
    };
    ask().then(over, over);
  }

  async function ask(): Promise<void> {
    const asked = [...new Set([...all].map(({ runId }) => runId))];
    const heads = new Map((await store.heads(asked)).map((head) => [head.runId, head]));
    for (const runId of asked) onEnd(runId, heads.get(runId) ?? gone);
  }

  return {
    look() {
      if (state.kind !== 'armed') return;
      state.cancel();
      look();
    },
    watch(runId) {
      const waiting = { runId };
      all.add(waiting);
      settle();
      return () => {
        all.delete(waiting);
        settle();
      };
    },
    get waiting() {
      return all.size;
    },
    get looks() {
      return looks;
    },
  };
}
