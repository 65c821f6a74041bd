// JSON of others, read loosely: versions add fields and leave some out, and what has another shape than expected is not there.

import { asCount } from '../../core/usage.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';

type Value = JsonValue | undefined;

const nothing: JsonObject = {};

export const objectOf = (value: Value): JsonObject => (isJsonObject(value) ? value : nothing);
export const listOf = (value: Value): readonly JsonValue[] => (Array.isArray(value) ? value : []);
export const objectsOf = (value: Value): readonly JsonObject[] => listOf(value).filter((each) => isJsonObject(each));
/** Empty where it is none. */
export const textOf = (value: Value): string => (typeof value === 'string' ? value : '');
/** Null where it is none, or an empty one. */
export const wordOf = (value: Value): string | null => textOf(value) || null;
export const numberOf = (value: Value): number | null => (typeof value === 'number' ? value : null);
/** 0 where it is none, or below it. */
export const countOf = (value: Value): number => asCount(value) ?? 0;

/** Of a text, or a list of parts of which some have one. */
export function plainText(content: Value): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map(objectOf)
    .map(({ text, type }) => (typeof text === 'string' ? text : `[${wordOf(type) ?? 'something else'}]`))
    .join('\n');
}
