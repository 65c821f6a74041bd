// At most four streams per browser: over HTTP/1.1 it opens six connections to a host and no more, and the other two are for
// everything else (C-040). A slot is a lock that a tab holds; a tab that is gone holds none.

import type { Locks, Platform } from './platform.ts';

const slotNames = [0, 1, 2, 3].map((slot) => `reins-stream-${slot}`);

export interface Slot {
  release(): void;
}

export interface StreamSlots {
  /** Null: none is free. */
  take(signal?: AbortSignal): Promise<Slot | null>;
  /** Null: the signal aborted first. */
  wait(signal: AbortSignal): Promise<Slot | null>;
}

/** @param locks  Null: every tab has a slot. */
export function createStreamSlots(locks: Platform['locks']): StreamSlots {
  if (locks === null) {
    const free = { release: () => {} };
    return { take: async () => free, wait: async () => free };
  }
  const hold = (name: string, options: Parameters<Locks['request']>[1]) =>
    new Promise<Slot | null>((resolve) => {
      const asked = locks.request(name, options, (lock) =>
        lock === null ? resolve(null) : new Promise<void>((release) => resolve({ release })),
      );
      // What is not waited for any more rejects.
      asked.catch(() => resolve(null));
    });
  return {
    async take() {
      for (const name of slotNames) {
        const slot = await hold(name, { ifAvailable: true });
        if (slot !== null) return slot;
      }
      return null;
    },
    async wait(signal) {
      if (signal.aborted) return null;
      const others = new AbortController();
      const any = AbortSignal.any([signal, others.signal]);
      let won: Slot | null = null;
      const all = slotNames.map(async (name) => {
        const slot = await hold(name, { signal: any });
        if (slot === null) return;
        if (won !== null || signal.aborted) return slot.release();
        won = slot;
        others.abort();
      });
      await Promise.all(all);
      return won;
    },
  };
}
