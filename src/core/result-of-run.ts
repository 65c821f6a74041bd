import { costOf } from './cost.ts';
import type { Ending, Park } from './closing.ts';
import type { PendingTool } from './run-event.ts';
import type { RunResultData, StopReason } from './outcome.ts';
import type { RunState } from './run-state.ts';

/** What the run, or its leg, came to. `state`: after all other events of the ending (C1 of `closing.ts`). */
export function resultOf(
  state: RunState,
  o: { readonly ending: Ending | Park; readonly nowMs: number; readonly pending: readonly PendingTool[] },
): RunResultData {
  const { ending, nowMs, pending } = o;
  const output = outputOf(state);
  const partial = ending.status === 'completed' && output !== '' ? '' : unfinishedText(state, output);
  const cost = costOf(state.usage, state.limits);
  return {
    runId: state.runId,
    sessionId: state.sessionId,
    requestId: state.requestId,
    status: ending.status,
    stopReason: stopReasonOf(ending),
    output,
    partialOutput: partial === '' ? null : partial,
    usage: state.usage,
    usageIncomplete: state.usageIncomplete,
    cost: { ...cost, estimated: cost.estimated || state.usageIncomplete },
    error: ending.status === 'failed' ? ending.error : null,
    pending,
    todos: state.todos,
    steps: state.step,
    attempts: state.attempts,
    model: {
      requested: state.requested,
      served: state.served,
      fallback: state.piecesSwitched || (isAnswer(state) && state.last?.switched === true),
      reason: state.switchReason,
    },
    undelivered: state.unread,
    unstopped: ending.status === 'cancelled' ? (ending.unstopped ?? []) : [],
    startedAtMs: state.startedAtMs,
    endedAtMs: nowMs,
  };
}

function stopReasonOf(ending: Ending | Park): StopReason | null {
  switch (ending.status) {
    case 'completed':
      return ending.stopReason;
    case 'cancelled':
      return 'cancelled';
    case 'failed':
    case 'awaiting-input':
    case 'paused':
      return null;
  }
}

/** What was shown for an answer that is not there: by the attempt or calling turn that came last (E-061). */
function unfinishedText({ open, last, abandonedText }: RunState, output: string): string {
  if (open !== null) return open.text || open.shownText;
  return abandonedText || (output === '' ? (last?.text ?? '') : '');
}

/** Whether the last accepted reply is part of the answer: it made no calls, or none that were run (E-061). */
function isAnswer({ open, last }: RunState): boolean {
  return open === null && last !== null && last.finishReason !== null && (last.calls === 0 || last.callsNotRun);
}

/** Text of the answer, with the pieces that its last reply goes on with. */
function outputOf(state: RunState): string {
  const answer = state.answerPieces + (isAnswer(state) ? (state.last?.text ?? '') : '');
  return [state.answerBefore, answer].filter((text) => text !== '').join('\n\n');
}
