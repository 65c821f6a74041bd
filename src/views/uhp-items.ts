import type { Annotation, ItemStatus, OutputItem } from '../protocol/uhp/response.ts';
import type { GrowingText } from './growing-text.ts';
import type { ToolOutcome } from '../core/run-event.ts';

interface ItemBase {
  readonly id: string;
  readonly index: number;
  status: ItemStatus;
}

/** A message or a reasoning item: one block of a reply, one part (UD-81). */
export interface TextItem extends ItemBase {
  readonly type: 'message' | 'reasoning';
  readonly block: number;
  readonly text: GrowingText;
  /** Of a message: files that it is the last word on (UD-54). */
  annotations: readonly Annotation[];
}

export interface CallItem extends ItemBase {
  readonly type: 'function_call';
  readonly block: number;
  /** The id on the wire: unique over the run, while a model may use one again in a later step. */
  readonly callId: string;
  readonly name: string;
  arguments: string;
  outcome: ToolOutcome | null;
}

interface CallOutputItem extends ItemBase {
  readonly type: 'function_call_output';
  readonly callId: string;
  readonly output: string;
}

/** Stands at an index that a given-up attempt left behind (UD-23). */
interface FillerItem extends ItemBase {
  readonly type: 'filler';
}

/** An item as the fold holds it: it grows until its status is no longer `in_progress`. */
export type Item = TextItem | CallItem | CallOutputItem | FillerItem;

/** The item as it stands, for `output` and `output_item.done`. */
export function snapshotOf(item: Item): OutputItem {
  const { id, status } = item;
  switch (item.type) {
    case 'message': {
      const content = [{ type: 'output_text' as const, text: item.text.whole, annotations: item.annotations }];
      return { id, type: 'message', role: 'assistant', status, content };
    }
    case 'reasoning':
      return { id, type: 'reasoning', status, summary: [{ type: 'summary_text', text: item.text.whole }] };
    case 'function_call':
      return { id, type: 'function_call', status, call_id: item.callId, name: item.name, arguments: item.arguments };
    case 'function_call_output':
      return { id, type: 'function_call_output', status, call_id: item.callId, output: item.output };
    case 'filler':
      return { id, type: 'reasoning', status, summary: [] };
  }
}

/** The item without content, for `output_item.added` (U-305). */
export function shellOf(item: Item): OutputItem {
  const { id } = item;
  const status = 'in_progress';
  switch (item.type) {
    case 'message':
      return { id, type: 'message', role: 'assistant', status, content: [] };
    case 'reasoning':
    case 'filler':
      return { id, type: 'reasoning', status, summary: [] };
    case 'function_call':
      return { id, type: 'function_call', status, call_id: item.callId, name: item.name, arguments: '' };
    case 'function_call_output':
      return { id, type: 'function_call_output', status, call_id: item.callId, output: '' };
  }
}
