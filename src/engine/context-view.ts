// What the model reads of the session and of this run, after compaction (E-442). It is asked for several times a step: only
// what has come since is looked at, and what is known lives as long as the array of the history does.
//
// V1. While it is read in the same way, a transcript only grows at its end, and no message stands in two runs: where one
//     stands at its old index, all before it is as it was.

import { estimateTokens } from './token-estimate.ts';
import { viewOf, type Message, type Transcript } from '../core/transcript.ts';
import type { RunState } from '../core/run-state.ts';

export interface ContextView {
  readonly messages: readonly Message[];
  /** Roughly. */
  readonly tokens: number;
  /** The same object in all views of which one begins with the other. */
  readonly lineage: object;
}

const newest = new WeakMap<readonly Message[], { readonly transcript: Transcript; readonly view: ContextView }>();

/** `history`: the messages before this run. */
export function readContext({ transcript }: RunState, history: readonly Message[]): ContextView {
  const known = newest.get(history);
  const more = known === undefined ? null : messagesSince(known.transcript, transcript);
  const view = known === undefined || more === null ? wholeView(transcript, history) : longer(known.view, more);
  newest.set(history, { transcript, view });
  return view;
}

function wholeView(transcript: Transcript, history: readonly Message[]): ContextView {
  const messages = viewOf(transcript, history);
  return { messages, tokens: estimateTokens(messages), lineage: {} };
}

function longer(view: ContextView, more: readonly Message[]): ContextView {
  if (more.length === 0) return view;
  return { ...view, messages: view.messages.concat(more), tokens: view.tokens + estimateTokens(more) };
}

/** Null: the later transcript is not just longer (V1). */
function messagesSince(earlier: Transcript, later: Transcript): readonly Message[] | null {
  const { messages, clearedThrough, droppedThrough, summary } = earlier;
  const readAlike =
    clearedThrough === later.clearedThrough && droppedThrough === later.droppedThrough && summary === later.summary;
  const continued = later.messages[messages.length - 1] === messages.at(-1);
  return readAlike && continued ? later.messages.slice(messages.length) : null;
}
