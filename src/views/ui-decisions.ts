// What a run asks of a person, as the calls of its message tell it.
//
// A call of a sub-agent is none of the message. It is told under the id of what is asked, and has its outcome with the
// decision: its own result comes to somebody else.

import { uiDataOf } from './ui-data.ts';
import type { EventData, PendingTool, RunEvent } from '../core/run-event.ts';
import type { UiChunk, UiForm } from '../protocol/ui/chunk.ts';

/** Tools whose output is the client's to give. */
const questionTools: ReadonlySet<string> = new Set(['ask_user_questions', 'askUserQuestions', 'AskUserQuestion']);

/** Said of the others, so that no client tries to run them (P-085). */
export function ranBy(toolName: string): { readonly providerExecuted?: true } {
  return questionTools.has(toolName) ? {} : { providerExecuted: true };
}

export class UiDecisions {
  readonly #form: UiForm;
  /** What is not decided. Null: no call of the message that is told. */
  readonly #asked = new Map<string, { readonly pending: PendingTool; readonly callId: string } | null>();

  constructor(form: UiForm) {
    this.#form = form;
  }

  get open(): number {
    return this.#asked.size;
  }

  /** Another message is told: what was asked in the one before is not decided in it, but the run may still wait for it. */
  turnPage(): void {
    for (const id of this.#asked.keys()) this.#asked.set(id, null);
  }

  /** @param calls  Those of the message. */
  ask(
    event: Extract<RunEvent, { type: 'approval-required' | 'recovery-required' }>,
    calls: ReadonlySet<string>,
  ): readonly UiChunk[] {
    const { data: pending } = event;
    const { approvalId, kind, call, reason } = pending;
    const isOurs = (pending.agentPath ?? event.agentPath ?? []).length === 0 && calls.has(call.id);
    const toolCallId = isOurs ? call.id : approvalId;
    this.#asked.set(approvalId, { pending, callId: toolCallId });
    if (kind === 'recovery') return uiDataOf({ ...event, type: 'recovery-required', data: pending });
    const before = isOurs ? [] : [callOfAnother(pending)];
    if (kind === 'question') return before;
    const why = reason === undefined ? {} : { reason };
    return [...before, { type: 'tool-approval-request', approvalId, toolCallId, ...why }];
  }

  decide({ approvalId, kind, decision, note, output }: EventData['approval-decided']): readonly UiChunk[] {
    const asked = this.#asked.get(approvalId) ?? null;
    this.#asked.delete(approvalId);
    if (asked === null) return [];
    const { pending, callId: toolCallId } = asked;
    const isAnothers = toolCallId === approvalId;
    switch (kind) {
      case 'approval': {
        const approved = decision === 'approve';
        const why = note === undefined ? {} : { reason: note };
        const response: UiChunk = { type: 'tool-approval-response', approvalId, approved, ...why };
        const outcome: UiChunk = approved
          ? { type: 'tool-output-available', toolCallId, output: null }
          : { type: 'tool-output-denied', toolCallId };
        return [...(this.#form.chunks === 7 ? [response] : []), ...(isAnothers ? [outcome] : [])];
      }
      case 'question':
        return isAnothers ? [{ type: 'tool-output-available', toolCallId, output: output?.content ?? null }] : [];
      case 'recovery': {
        const { id, name } = pending.call;
        return [{ type: 'data-reins-recovery', id: approvalId, data: { toolCallId: id, toolName: name, decision } }];
      }
    }
  }
}

function callOfAnother({ approvalId, kind, call: { name, input } }: PendingTool): UiChunk {
  const named = { toolCallId: approvalId, toolName: name, dynamic: true } as const;
  return {
    type: 'tool-input-available',
    ...named,
    ...(kind === 'question' ? {} : { providerExecuted: true }),
    input,
  };
}
