import { createContext, useContext, useSyncExternalStore } from 'react';
import type { ConsoleState } from '../state/state.ts';
import type { ConsoleStore } from './console-store.ts';

export const StoreContext = createContext<ConsoleStore | null>(null);

export function useStore(): ConsoleStore {
  const store = useContext(StoreContext);
  if (store === null) throw new Error('This panel stands outside of the console.');
  return store;
}

/** @param select  Gives the same value for the same state: a part of it, or text made of it; no new object. */
export function useConsole<T>(select: (state: ConsoleState) => T): T {
  const store = useStore();
  return useSyncExternalStore(store.subscribe, () => select(store.getState()));
}
