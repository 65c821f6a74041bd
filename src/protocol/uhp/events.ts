import type { Annotation, OutputItem, SummaryPart, TextPart, UhpResponse } from './response.ts';
import type { Approval } from './approval.ts';

/** Payload of each event type of the protocol (U-305). */
export type UhpEventFields = {
  'response.created': { readonly response: UhpResponse };
  'response.in_progress': { readonly response: UhpResponse };
  'response.output_item.added': { readonly output_index: number; readonly item: OutputItem };
  'response.content_part.added': PartPlace & { readonly part: TextPart };
  'response.output_text.delta': PartPlace & { readonly delta: string };
  'response.output_text.done': PartPlace & { readonly text: string };
  'response.output_text.annotation.added': PartPlace & {
    readonly annotation_index: number;
    readonly annotation: Annotation;
  };
  'response.content_part.done': PartPlace & { readonly part: TextPart };
  'response.reasoning_summary_part.added': SummaryPlace & { readonly part: SummaryPart };
  'response.reasoning_summary_text.delta': SummaryPlace & { readonly delta: string };
  'response.reasoning_summary_part.done': SummaryPlace & { readonly part: SummaryPart };
  'response.function_call_arguments.delta': ItemPlace & { readonly delta: string };
  'response.function_call_arguments.done': ItemPlace & { readonly arguments: string };
  'response.output_item.done': { readonly output_index: number; readonly item: OutputItem };
  'response.completed': { readonly response: UhpResponse };
  'response.incomplete': { readonly response: UhpResponse };
  'response.failed': { readonly response: UhpResponse };
};

type ItemPlace = { readonly item_id: string; readonly output_index: number };
type PartPlace = ItemPlace & { readonly content_index: number };
type SummaryPlace = ItemPlace & { readonly summary_index: number };

/** Reins' own events: only in the stream of a task that asked for them (UD-24, UD-82). */
export type ReinsEventFields = {
  'reins.attempt_reset': {
    /** First index that the next attempt takes again. */
    readonly output_index: number;
    readonly attempt: number;
    readonly reason: string;
    readonly retry_in_ms: number;
  };
  'reins.waiting': {
    readonly on: 'model' | 'retry' | 'tool' | 'capacity';
    readonly seconds: number;
    readonly name: string | null;
    /** In the line for a process, from 1; only on `capacity`. */
    readonly position?: number;
    /** Since the newest sign that the connection to whoever works lives, pings included (B147). Absent: there is no such sign. */
    readonly heard_seconds_ago?: number;
  };
  'reins.todos_updated': {
    readonly todos: readonly { readonly content: string; readonly status: string }[];
    readonly completed: number;
    readonly total: number;
    readonly in_progress: string | null;
  };
  'reins.tool_result': {
    readonly call_id: string;
    readonly name: string;
    readonly ok: boolean;
    readonly summary: string;
    /** Absent where the summary says it all. */
    readonly preview?: string;
  };
  'reins.approval_required': { readonly approval: Approval };
  'reins.recovery_required': { readonly approval: Approval };
  'reins.approval_decided': { readonly approval: Approval };
  'reins.user_message': { readonly message_id: string; readonly text: string };
  'reins.model_switched': { readonly from: string; readonly to: string; readonly reason: string };
  'reins.compacted': { readonly trigger: string; readonly tokens_before: number; readonly tokens_after: number };
  'reins.file_changed': { readonly kind: string; readonly path: string; readonly bytes: number | null };
  'reins.budget_reached': { readonly budget: string; readonly limit: number; readonly used: number };
  'reins.gap': { readonly reason: string };
};

type EventFields = UhpEventFields & ReinsEventFields;
export type UhpEventType = keyof EventFields;
export type UhpEventOf<T extends UhpEventType> = {
  readonly type: T;
  /** 0, 1, 2 … within one stream of one response (U-302). */
  readonly sequence_number: number;
} & EventFields[T];

/** One streamed event. Reins' server sends no `error` event (UD-26). */
export type UhpEvent = { [T in UhpEventType]: UhpEventOf<T> }[UhpEventType];
export type ReinsEvent = {
  [T in keyof ReinsEventFields]: { readonly type: T } & ReinsEventFields[T];
}[keyof ReinsEventFields];

export function isTerminal(event: UhpEvent): boolean {
  return (
    event.type === 'response.completed' || event.type === 'response.incomplete' || event.type === 'response.failed'
  );
}

/** Name of the terminal event for a status: a cancelled task ends with `response.failed` (U-314). */
export function terminalTypeOf(
  status: 'completed' | 'incomplete' | 'failed' | 'cancelled',
): 'response.completed' | 'response.incomplete' | 'response.failed' {
  return status === 'cancelled' ? 'response.failed' : `response.${status}`;
}
