import { pageHandlers } from './page-handlers.ts';
import { personHandlers } from './person-handlers.ts';
import { sessionHandlers } from './session-handlers.ts';
import { turnHandlers } from './turn-handlers.ts';
import type { Action } from './action.ts';
import type { ConsoleState } from './state.ts';
import type { Handlers } from './handlers.ts';
import type { Reduced } from './reduced.ts';

const handlers: Handlers<Action['type']> = { ...personHandlers, ...turnHandlers, ...sessionHandlers, ...pageHandlers };

/**
 * All page logic (C-003): what happened goes in, the new state and what is to be done come out. Pure: no clock, no chance, no
 * page. An action that fits nothing gives the same state again.
 */
export function reduce(state: ConsoleState, action: Action): Reduced {
  return handle(state, action.type, action);
}

function handle<T extends Action['type']>(state: ConsoleState, type: T, action: Extract<Action, { type: T }>): Reduced {
  return handlers[type](state, action);
}
