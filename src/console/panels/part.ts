// Parts of the page that come after the first picture (C-081), each a file of its own.
//
// P1. Whoever needs one asks for it. What could not be had is asked for again with the next wish, and nothing else stops.
// P2. One that is there is there at once: it is drawn in the same picture.

import { useEffect, useSyncExternalStore } from 'react';

export interface Part<T> {
  /** Null: it is not there yet. */
  readonly get: () => T | null;
  /** @returns  Ends it. */
  readonly subscribe: (listener: () => void) => () => void;
  /** @throws where it cannot be had: no network, or the server has another version by now */
  readonly load: () => Promise<T>;
}

export function createPart<T>(fetchPart: () => Promise<T>): Part<T> {
  const listeners = new Set<() => void>();
  let part: T | null = null;
  let loading: Promise<T> | null = null;
  const fetchOnce = async () => {
    try {
      part = await fetchPart();
      for (const listener of listeners) listener();
      return part;
    } finally {
      loading = null;
    }
  };
  return {
    get: () => part,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    load: () => (part === null ? (loading ??= fetchOnce()) : Promise.resolve(part)),
  };
}

const nothing = () => {};

/** @param onFailed  The same function each time. @returns  Null: it is on its way, or could not be had. */
export function usePart<T>(part: Part<T>, onFailed: () => void = nothing): T | null {
  useEffect(() => void part.load().catch(onFailed), [part, onFailed]);
  return useSyncExternalStore(part.subscribe, part.get);
}
