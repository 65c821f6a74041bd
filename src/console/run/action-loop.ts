// What happened goes through the reducer, one action after the other, and what is to be done comes out.
//
// A1. An action is reduced as soon as it comes, and its effects run before the next one is taken: also where an effect has an
//     action of its own to tell at once.
// A2. Views are told of what a person did at once, so that a field shows what is typed into it; of all else once per picture
//     (C-064), however many events that joins.

import { initialState, type ConsoleState } from '../state/state.ts';
import { personHandlers } from '../state/person-handlers.ts';
import { reduce } from '../state/reduce.ts';
import type { ActionBody } from '../state/action.ts';
import type { Effect } from '../state/effect.ts';
import type { Platform } from './platform.ts';

export interface ActionLoop {
  readonly getState: () => ConsoleState;
  /** @returns  Ends it. */
  readonly subscribe: (listener: () => void) => () => void;
  readonly dispatch: (action: ActionBody) => void;
}

export function createActionLoop(
  { clock, onFrame }: Pick<Platform, 'clock' | 'onFrame'>,
  perform: (effect: Effect) => void,
): ActionLoop {
  const listeners = new Set<() => void>();
  const waiting: ActionBody[] = [];
  let state = initialState;
  let told = state;
  let [isTaking, isFrameAsked] = [false, false];

  const tell = () => {
    if (told === state) return;
    told = state;
    for (const listener of listeners) listener();
  };
  const take = (action: ActionBody) => {
    const reduced = reduce(state, { ...action, atMs: clock.now() });
    ({ state } = reduced);
    reduced.effects.forEach(perform);
    if (action.type in personHandlers) return tell();
    if (state === told || isFrameAsked) return;
    isFrameAsked = true;
    onFrame(() => {
      isFrameAsked = false;
      tell();
    });
  };
  return {
    getState: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    dispatch(action) {
      waiting.push(action);
      if (isTaking) return;
      isTaking = true;
      try {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) take(next);
      } finally {
        isTaking = false;
      }
    },
  };
}
