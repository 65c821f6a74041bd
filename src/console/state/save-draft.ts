import { sessionIdOf, type ConsoleState } from './state.ts';
import type { Effect } from './effect.ts';

/** What a reload must not lose, as it is now: the draft and what waits. */
export function saveDraft(state: ConsoleState): Effect {
  return { type: 'saveDraft', sessionId: sessionIdOf(state), draft: state.composer, chips: state.queue.chips };
}
