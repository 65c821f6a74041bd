import { viewOf, type Message } from '../core/transcript.ts';
import type { RunState } from '../core/run-state.ts';

/** What the model reads of the session and of this run, after compaction (E-442). `history`: the messages before this run. */
export function contextView({ transcript }: RunState, history: readonly Message[]): readonly Message[] {
  return viewOf(transcript, history);
}
