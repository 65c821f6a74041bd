// Runs that others write and that somebody here waits for: each second one query asks how far all of their logs are.
//
// D1. However many wait, and for however many runs, there is one look at a time, and none while nobody waits.
// D2. Who waits is woken where there is more than it has, where nothing more can come, and where the run is gone. A word that
//     is lost on its way from another node so costs a second.
// D3. A look that fails wakes nobody: while the store does not answer nothing can be read there either.

import type { Clock } from '../core/clock.ts';
import type { RunId } from '../core/ids.ts';
import type { Store } from './store.ts';

export interface Waiting {
  readonly runId: RunId;
  /** The last event that it has. */
  readonly cursor: number;
  readonly notify: () => void;
}

export interface HeadWatch {
  /** Looks for it until the returned function is called. */
  watch(waiting: Waiting): () => void;
  /** How many wait now. */
  readonly waiting: number;
  /** How often the store was asked so far. */
  readonly looks: number;
}

const everyMs = 1_000;

export function createHeadWatch({ store, clock }: { readonly store: Store; readonly clock: Clock }): HeadWatch {
  const all = new Set<Waiting>();
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
    wake().then(over, over);
  }

  async function wake(): Promise<void> {
    const asked = new Set([...all].map(({ runId }) => runId));
    const heads = new Map((await store.heads([...asked])).map((head) => [head.runId, head]));
    for (const { runId, cursor, notify } of all) {
      const head = heads.get(runId);
      if (asked.has(runId) && (head === undefined || head.isOver || head.lastSeq > cursor)) notify();
    }
  }

  return {
    watch(waiting) {
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
