import { field, isObject, textOf } from './loose.ts';
import type { JsonObject } from '../core/json.ts';
import type { UhpEvent } from '../protocol/uhp/events.ts';

/** Something went wrong; what ends the task comes after it (U-447). */
export type UhpErrorEvent = {
  readonly type: 'error';
  readonly sequence_number: number;
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
};

/** One event of a task. */
export type TaskEvent = UhpEvent | UhpErrorEvent;

export interface ParsedEvent {
  /** Null: it has none, so it has no place in the stream. */
  readonly number: number | null;
  /** Null: of a type that is not known here, or not of its type's shape. */
  readonly event: TaskEvent | null;
  readonly raw: JsonObject;
}

const isText = (value: unknown) => typeof value === 'string';
const isIndex = (value: unknown) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const checks = {
  response: (value: unknown) => isText(field(value, 'id')) && Array.isArray(field(value, 'output')),
  item: (value: unknown) => isText(field(value, 'type')),
  part: isObject,
  annotation: isObject,
  delta: isText,
  text: isText,
  arguments: isText,
  message: isText,
  item_id: isText,
  output_index: isIndex,
  content_index: isIndex,
  summary_index: isIndex,
  annotation_index: isIndex,
};
type Field = keyof typeof checks;

const response: readonly Field[] = ['response'];
const item: readonly Field[] = ['output_index', 'item'];
const inItem: readonly Field[] = ['output_index', 'item_id'];
const inText: readonly Field[] = [...inItem, 'content_index'];
const inSummary: readonly Field[] = [...inItem, 'summary_index'];

/** What has to be there for an event to be taken for one of its type. */
const fields: Readonly<Record<TaskEvent['type'], readonly Field[]>> = {
  'response.created': response,
  'response.in_progress': response,
  'response.output_item.added': item,
  'response.content_part.added': [...inText, 'part'],
  'response.output_text.delta': [...inText, 'delta'],
  'response.output_text.done': [...inText, 'text'],
  'response.output_text.annotation.added': [...inText, 'annotation_index', 'annotation'],
  'response.content_part.done': [...inText, 'part'],
  'response.reasoning_summary_part.added': [...inSummary, 'part'],
  'response.reasoning_summary_text.delta': [...inSummary, 'delta'],
  'response.reasoning_summary_part.done': [...inSummary, 'part'],
  'response.function_call_arguments.delta': [...inItem, 'delta'],
  'response.function_call_arguments.done': [...inItem, 'arguments'],
  'response.output_item.done': item,
  'response.completed': response,
  'response.incomplete': response,
  'response.failed': response,
  error: ['message'],
  'reins.attempt_reset': ['output_index'],
  'reins.waiting': [],
  'reins.todos_updated': [],
  'reins.tool_result': [],
  'reins.approval_required': [],
  'reins.recovery_required': [],
  'reins.approval_decided': [],
  'reins.user_message': [],
  'reins.model_switched': [],
  'reins.compacted': [],
  'reins.file_changed': [],
  'reins.budget_reached': [],
  'reins.gap': [],
};
const shapes: ReadonlyMap<string, readonly Field[]> = new Map(Object.entries(fields));

/** Null for data that is no JSON object with a type, such as `[DONE]` (U-442). The JSON decides, never an `event:` line (B011). */
export function parseEvent(data: string): ParsedEvent | null {
  const raw = parsedObject(data);
  if (raw === null || textOf(raw, 'type') === undefined) return null;
  const number = raw['sequence_number'];
  return {
    raw,
    event: isTaskEvent(raw) ? raw : null,
    number: typeof number === 'number' && isIndex(number) ? number : null,
  };
}

function isTaskEvent(value: object): value is TaskEvent {
  const needed = shapes.get(textOf(value, 'type') ?? '');
  return isIndex(field(value, 'sequence_number')) && needed?.every((name) => checks[name](field(value, name))) === true;
}

function parsedObject(data: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(data);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
