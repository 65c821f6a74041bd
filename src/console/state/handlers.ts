import type { Action } from './action.ts';
import type { ConsoleState } from './state.ts';
import type { Reduced } from './reduced.ts';

/** Who answers for which action: one entry for each type, or it does not compile. */
export type Handlers<T extends Action['type']> = {
  readonly [K in T]: (state: ConsoleState, action: Extract<Action, { type: K }>) => Reduced;
};
