import { executionKeyOf, type EventData, type EventDraft } from './run-event.ts';
import type { JsonValue } from './json.ts';
import type { RunState } from './run-state.ts';
import type { ToolAnswerContent } from './tool-answer.ts';

type Named = 'id' | 'name' | 'input' | 'executionKey';

/** A call of the open step, and the makers of the events of its life (E-531). */
export interface CallEvents {
  readonly executionKey: string;
  start(willRun: boolean): EventDraft;
  dispatch(data: Omit<EventData['tool-dispatched'], 'id' | 'executionKey'>): EventDraft;
  complete(data: Omit<EventData['tool-call-complete'], Named>): EventDraft;
  answer(data: ToolAnswerContent & { readonly isError: boolean }): EventDraft;
}

export function callEvents(
  { runId, step, open }: RunState,
  { id, name, input }: { readonly id: string; readonly name: string; readonly input: JsonValue },
): CallEvents {
  const position = { step, attempt: open?.attempt ?? 0 };
  const executionKey = executionKeyOf(runId, step, id);
  const named = { id, name, input, executionKey };
  return {
    executionKey,
    start: (willRun) => ({ type: 'tool-call-start', data: { ...named, willRun }, ...position }),
    dispatch: (data) => ({ type: 'tool-dispatched', data: { id, executionKey, ...data }, ...position }),
    complete: (data) => ({ type: 'tool-call-complete', data: { ...named, ...data }, ...position }),
    answer: (data) => ({ type: 'tool-result', data: { toolCallId: id, name, ...data }, ...position }),
  };
}
