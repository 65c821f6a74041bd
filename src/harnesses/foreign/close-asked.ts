import { answerCall, applyDrafts } from '../../core/closing.ts';
import { wordOn } from './resume-words.ts';
import type { EventDraft } from '../../core/run-event.ts';
import type { PendingEntry, RunState } from '../../core/run-state.ts';

export interface ClosedCalls {
  readonly drafts: readonly EventDraft[];
  /** To the runtime, which does not know what was decided. */
  readonly words: readonly string[];
  /** Calls that it has to make again. */
  readonly approved: readonly { readonly argsDigest: string; readonly tool: string; readonly approvalId: string }[];
}

/** Calls of the open step that a person was asked about, and whose runtime is gone (H-042). */
export function closeAsked(state: RunState, nowMs: number): ClosedCalls {
  const drafts: EventDraft[] = [];
  const words: string[] = [];
  const approved: ClosedCalls['approved'][number][] = [];
  for (const entry of state.pending) {
    const { call, decided, argsDigest, approvalId } = entry;
    const open = state.open?.calls.find((each) => each.call.id === call.id);
    if (open === undefined || open.progress.at === 'answered') continue;
    const isApproved = decided?.decision === 'approve';
    if (isApproved) approved.push({ argsDigest, tool: call.name, approvalId });
    words.push(wordOn(call.name, { approved: isApproved, note: decided?.note, output: decided?.output?.content }));
    drafts.push(...answerCall(applyDrafts(state, drafts, nowMs), open, answerTo(entry)));
  }
  return { drafts, words, approved };
}

/** How the log closes a call that was asked about and whose runtime is gone (H-042, E-611). */
function answerTo({ decided }: PendingEntry): {
  readonly outcome: 'cancelled' | 'denied' | 'answered';
  readonly content: string;
  readonly isError: boolean;
} {
  const answer = decided?.output?.content;
  if (answer !== undefined) return { outcome: 'answered', content: answer, isError: false };
  return decided?.decision === 'approve'
    ? { outcome: 'cancelled', content: 'Continued after approval.', isError: true }
    : { outcome: 'denied', content: 'Not run.', isError: true };
}
