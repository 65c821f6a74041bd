// The output of a task as it grows, put together from events (U-444).
//
// A1. An item added at an index that is held takes that place: the reply before it was given up. What still comes for the
//     item that was there is not for the new one.
// A2. A whole (`done`) beats the pieces before it. The terminal response beats everything (U-443).
// A3. Items of unknown types are kept as they are.

import type { MessageItem, OutputItem, ReasoningItem } from '../protocol/uhp/response.ts';
import type { TaskEvent } from './parse-event.ts';

/** By `output_index`. */
export type Assembly = Map<number, OutputItem>;

/** Items in the order of their indexes. */
export function outputOf(assembly: Assembly): readonly OutputItem[] {
  return [...assembly].toSorted(([a], [b]) => a - b).map(([, item]) => item);
}

export function assemblyOf(output: readonly OutputItem[]): Assembly {
  return new Map(output.entries());
}

export function assemble(assembly: Assembly, event: TaskEvent): void {
  switch (event.type) {
    case 'response.output_item.added':
    case 'response.output_item.done':
      assembly.set(event.output_index, event.item);
      return;
    case 'response.content_part.added':
    case 'response.content_part.done':
      return inMessage(assembly, event, () => event.part);
    case 'response.output_text.delta':
      return inMessage(assembly, event, (part) => ({ ...part, text: part.text + event.delta }));
    case 'response.output_text.done':
      return inMessage(assembly, event, (part) => ({ ...part, text: event.text }));
    case 'response.output_text.annotation.added':
      return inMessage(assembly, event, (part) => ({
        ...part,
        annotations: withItem(part.annotations, event.annotation_index, event.annotation),
      }));
    case 'response.reasoning_summary_part.added':
    case 'response.reasoning_summary_part.done':
      return inReasoning(assembly, event, () => event.part);
    case 'response.reasoning_summary_text.delta':
      return inReasoning(assembly, event, (part) => ({ ...part, text: part.text + event.delta }));
    case 'response.function_call_arguments.delta':
      return inCall(assembly, event, (written) => written + event.delta);
    case 'response.function_call_arguments.done':
      return inCall(assembly, event, () => event.arguments);
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      assembly.clear();
      for (const [index, item] of event.response.output.entries()) assembly.set(index, item);
      return;
    case 'response.created':
    case 'response.in_progress':
    case 'error':
    case 'reins.attempt_reset':
    case 'reins.waiting':
    case 'reins.todos_updated':
    case 'reins.tool_result':
    case 'reins.approval_required':
    case 'reins.recovery_required':
    case 'reins.approval_decided':
    case 'reins.user_message':
    case 'reins.model_switched':
    case 'reins.compacted':
    case 'reins.file_changed':
    case 'reins.budget_reached':
    case 'reins.gap':
  }
}

interface Place {
  readonly output_index: number;
  readonly item_id: string;
}
type TextPart = MessageItem['content'][number];
type SummaryPart = ReasoningItem['summary'][number];

function inMessage(
  assembly: Assembly,
  place: Place & { readonly content_index: number },
  change: (part: TextPart) => TextPart,
): void {
  const item = itemAt(assembly, place);
  if (item?.type !== 'message') return;
  const part = item.content[place.content_index] ?? { type: 'output_text', text: '', annotations: [] };
  assembly.set(place.output_index, { ...item, content: withItem(item.content, place.content_index, change(part)) });
}

function inReasoning(
  assembly: Assembly,
  place: Place & { readonly summary_index: number },
  change: (part: SummaryPart) => SummaryPart,
): void {
  const item = itemAt(assembly, place);
  if (item?.type !== 'reasoning') return;
  const part = item.summary[place.summary_index] ?? { type: 'summary_text', text: '' };
  assembly.set(place.output_index, { ...item, summary: withItem(item.summary, place.summary_index, change(part)) });
}

function inCall(assembly: Assembly, place: Place, change: (written: string) => string): void {
  const item = itemAt(assembly, place);
  if (item?.type === 'function_call') assembly.set(place.output_index, { ...item, arguments: change(item.arguments) });
}

function itemAt(assembly: Assembly, { output_index, item_id }: Place): OutputItem | undefined {
  const item = assembly.get(output_index);
  return item?.id === item_id ? item : undefined;
}

/** Sparse indexes of another server leave no holes. */
function withItem<T>(items: readonly T[], index: number, item: T): readonly T[] {
  return index < items.length ? items.with(index, item) : [...items, item];
}
