import type { JsonObject } from '../../core/json.ts';
import type { RunId } from '../../core/ids.ts';
import type { ErrorBody } from './error.ts';

export type ResponseStatus = 'in_progress' | 'completed' | 'failed' | 'incomplete' | 'cancelled';
export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** A file the agent made, cited on the text that mentions it (U-265). */
export type Annotation = {
  readonly type: 'container_file_citation';
  readonly container_id: string;
  readonly file_id: string;
  readonly filename: string;
  readonly download_url: string;
  /** UTF-16 units. */
  readonly start_index: number;
  readonly end_index: number;
};

export type TextPart = {
  readonly type: 'output_text';
  readonly text: string;
  readonly annotations: readonly Annotation[];
};

export type SummaryPart = { readonly type: 'summary_text'; readonly text: string };

/** One entry of `output` (U-264). Type aliases, so that each is also a JSON object. */
export type MessageItem = {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly status: ItemStatus;
  readonly content: readonly TextPart[];
};
export type ReasoningItem = {
  readonly id: string;
  readonly type: 'reasoning';
  readonly status: ItemStatus;
  readonly summary: readonly SummaryPart[];
};
export type FunctionCallItem = {
  readonly id: string;
  readonly type: 'function_call';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
};
export type FunctionCallOutputItem = {
  readonly id: string;
  readonly type: 'function_call_output';
  readonly status: ItemStatus;
  readonly call_id: string;
  readonly output: string;
};
export type OutputItem = MessageItem | ReasoningItem | FunctionCallItem | FunctionCallOutputItem;

/** A figure that nobody gave is left out, never 0 (U-005). */
export type UhpUsage = {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly total_tokens?: number;
  readonly cache_read_tokens?: number;
  readonly cache_write_tokens?: number;
};

/** `estimated`: it may be more, or less: some of the use is not known, or of a model that stepped in (UD-48). */
export type UhpCost = { readonly dollars: number; readonly estimated: boolean };

export type IncompleteReason =
  | 'timeout'
  | 'max_step'
  | 'max_output_tokens'
  | 'quota'
  | 'reins_max_cost'
  | 'reins_max_total_tokens'
  | 'reins_loop';

/** The response object (U-260); every key is always there. */
export type UhpResponse = {
  readonly id: RunId;
  readonly object: 'response';
  /** Unix seconds. */
  readonly created_at: number;
  readonly status: ResponseStatus;
  readonly error: ErrorBody | null;
  readonly incomplete_details: { readonly reason: IncompleteReason } | null;
  readonly previous_response_id: RunId | null;
  readonly model: string;
  readonly output: readonly OutputItem[];
  readonly store: boolean;
  readonly usage: UhpUsage | null;
  readonly metadata: JsonObject;
};
