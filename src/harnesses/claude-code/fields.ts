// Of what the program says, only what is read is looked at: versions add fields, and leave some out.

import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';

const nothing: JsonObject = {};

export const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : nothing);
export const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);
export const textOf = (value: JsonValue | undefined): string | null => (typeof value === 'string' ? value : null);
export const numberOf = (value: JsonValue | undefined): number | null => (typeof value === 'number' ? value : null);

/** Text, or a list of parts of which some have text. */
export function plainText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => textOf(objectOf(part)['text']) ?? `[${textOf(objectOf(part)['type']) ?? 'something else'}]`)
    .join('\n');
}
