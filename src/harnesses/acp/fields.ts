import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';

/** A field that ought to be a text; empty where it is none. */
export const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

/** A field that ought to be an object; empty where it is none. */
export const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** The objects of a field that ought to be a list of them. */
export const objectsOf = (value: JsonValue | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((each) => isJsonObject(each)) : [];

/** A field that ought to be a count; null where it is none. */
export const countOf = (value: JsonValue | undefined): number | null => (typeof value === 'number' ? value : null);

/** The texts of content blocks, of a message or of a tool call, joined. */
export const textIn = (content: JsonValue | undefined): string =>
  objectsOf(content)
    .map((each) => textOf((each['type'] === 'content' ? objectOf(each['content']) : each)['text']))
    .join('');
