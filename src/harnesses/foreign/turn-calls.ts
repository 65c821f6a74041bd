// Calls of the open step, as the log tells of them. Pure. A call runs once in the log: what is said of one that was answered
// is dropped.

import { answerCall, applyDrafts, pendingTool } from '../../core/closing.ts';
import { callEvents } from '../../core/call-events.ts';
import { canonicalJson, parsedOrText } from '../../core/json.ts';
import { cutMiddle, toWellFormed } from '../../core/text.ts';
import { hash } from 'node:crypto';
import type { CallState, RunState } from '../../core/run-state.ts';
import type { EventDraft, PendingTool } from '../../core/run-event.ts';
import type { NativeCall, NativeFact } from './native-fact.ts';
import type { Question } from '../../core/questions.ts';

/** Longest text of a result that is kept, in UTF-16 units; head and tail of what is longer. */
const maxResultUnits = 65_536;

export function callIn({ open }: RunState, id: string): CallState | undefined {
  return open?.calls.find(({ call }) => call.id === id);
}

/** The call may run: it starts, by this authority. */
export function beginCall(state: RunState, call: NativeCall, authority: string): readonly EventDraft[] {
  if (callIn(state, call.id)?.progress.at !== 'written') return [];
  const events = callEvents(state, call);
  const argsDigest = digestOf(call);
  const dispatch = { toolAttempt: 1, argsDigest, replay: 'manual', timeoutMs: null, authority } as const;
  return [events.start(true), events.dispatch(dispatch)];
}

/** The call does not run; the model reads why. */
export function refuseCall(
  state: RunState,
  call: NativeCall,
  answer: { readonly outcome: 'denied' | 'answered' | 'cancelled'; readonly content: string },
): readonly EventDraft[] {
  const entry = callIn(state, call.id);
  if (entry === undefined || entry.progress.at === 'answered') return [];
  return answerCall(state, entry, { ...answer, isError: answer.outcome !== 'answered' });
}

/** What a person is asked about it. */
export function askAbout(
  state: RunState,
  call: NativeCall,
  { nowMs, questions }: { readonly nowMs: number; readonly questions: readonly Question[] | undefined },
): PendingTool {
  const kind = questions === undefined ? 'approval' : 'question';
  const request = { kind, call, argsDigest: digestOf(call), replay: 'manual', toolAttempt: 0 } as const;
  const pending = pendingTool(state, request, nowMs);
  return questions === undefined ? pending : { ...pending, questions };
}

export function addOutput(
  state: RunState,
  { id, text }: Extract<NativeFact, { is: 'call-output' }>,
): readonly EventDraft[] {
  const entry = callIn(state, id);
  if (entry?.progress.at !== 'dispatched') return [];
  const data = { id, name: entry.progress.name, text: toWellFormed(text) };
  return [{ type: 'tool-output-delta', data, step: state.step, attempt: state.open?.attempt ?? 0 }];
}

export function endCall(
  state: RunState,
  { id, outcome, content }: Extract<NativeFact, { is: 'call-ended' }>,
): readonly EventDraft[] {
  const entry = callIn(state, id);
  if (entry === undefined || entry.progress.at === 'answered' || entry.progress.at === 'returned') return [];
  if (entry.progress.at === 'written' && (outcome === 'ok' || outcome === 'error')) {
    const call = { id, name: entry.call.name, input: parsedOrText(entry.call.arguments) };
    const begun = beginCall(state, call, 'harness');
    return [...begun, ...endCall(applyDrafts(state, begun, 0), { is: 'call-ended', id, outcome, content })];
  }
  const text = cutMiddle(toWellFormed(content), maxResultUnits / 2, maxResultUnits / 2);
  return answerCall(state, entry, { outcome, content: text, isError: outcome !== 'ok' && outcome !== 'answered' });
}

/** Calls whose results the runtime never gave: nothing is invented (H-026). */
export function giveUpCalls(state: RunState): readonly EventDraft[] {
  return (state.open?.calls ?? []).flatMap((entry) => {
    if (entry.progress.at === 'answered') return [];
    const answer =
      entry.progress.at === 'dispatched'
        ? ({ outcome: 'unknown', content: '' } as const)
        : ({ outcome: 'not-run', content: 'The agent did not run this call.' } as const);
    return answerCall(state, entry, answer);
  });
}

/** Binds a decision to the exact call (H-041). */
export function digestOf({ name, input }: NativeCall): string {
  return hash('sha256', canonicalJson({ name, input }));
}
