import { initialState, type ConsoleState } from '../state/state.ts';
import { reduce } from '../state/reduce.ts';
import type { Action } from '../state/action.ts';
import type { ConsoleStore, FileDoor, PageEffect } from '../panels/console-store.ts';
import type { Effect } from '../state/effect.ts';

export interface LocalStore extends ConsoleStore {
  /** With their own times. */
  readonly play: (actions: readonly Action[]) => void;
  /** Nothing has happened yet. */
  readonly reset: () => void;
  /** All that were asked for, done or not. */
  readonly effects: readonly Effect[];
}

/** The reducer and nothing behind it: no server, and only those effects that are of the page itself. */
export function createLocalStore(files: FileDoor): LocalStore {
  let state: ConsoleState = initialState;
  const effects: Effect[] = [];
  const listeners = new Set<() => void>();
  const pageListeners = new Set<(effect: PageEffect) => void>();
  const play = (actions: readonly Action[]) => {
    for (const action of actions) {
      const reduced = reduce(state, action);
      state = reduced.state;
      effects.push(...reduced.effects);
      for (const effect of reduced.effects) if (isOfPage(effect)) for (const tell of pageListeners) tell(effect);
    }
    for (const listener of listeners) listener();
  };
  return {
    getState: () => state,
    subscribe: (listener) => added(listeners, listener),
    onPageEffect: (listener) => added(pageListeners, listener),
    // Scenes have a clock of their own.
    dispatch: (action) => play([{ ...action, atMs: state.nowMs }]),
    files,
    play,
    reset() {
      state = initialState;
      effects.length = 0;
      for (const listener of listeners) listener();
    },
    effects,
  };
}

function isOfPage(effect: Effect): effect is PageEffect {
  return effect.type === 'announce' || effect.type === 'focus' || effect.type === 'follow';
}

function added<T>(set: Set<T>, one: T): () => void {
  set.add(one);
  return () => set.delete(one);
}
