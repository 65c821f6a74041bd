import { toWellFormed } from './text.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of JSON text, or the text itself where it is none. */
export function parsedOrText(text: string): JsonValue {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}

/** JSON with sorted keys: equal values give equal text, whatever order their keys came in. For digests and comparison. */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  // Without a list of pieces: this is done several times for each tool call.
  let text = '';
  for (const key of Object.keys(value).toSorted())
    text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`;
  return text === '' ? '{}' : `${text}}`;
}

/** Deeper than any document that is meant to be read, and shallow enough for every recursive reader of JSON. */
const maxDepth = 500;

/**
 * Whatever a tool returned, as strict JSON (E-009, E-551). Never throws.
 *
 * - BigInt: decimal text. NaN, Infinity, and the value `undefined`: null. -0: 0.
 * - undefined, functions, symbols: dropped from objects, null in arrays.
 * - `toJSON` is honoured, so a Date is its ISO text. Error: `{name, message, code?}`, no stack (P-023).
 * - Map: its entries. Set: its members. Buffers and typed arrays: `{bytes}`, their size.
 * - A cycle: "[circular]". A throwing getter or `toJSON`: "[unserializable]" in its place. Below 500 levels: "[too deep]".
 * - Lone surrogates, also in keys: U+FFFD.
 */
export function toJsonValue(value: unknown): JsonValue {
  return convert(value, new Set());
}

function convert(value: unknown, above: Set<object>): JsonValue {
  switch (typeof value) {
    case 'string':
      return toWellFormed(value);
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value + 0 : null; // JSON text has no -0.
    case 'bigint':
      return value.toString();
    case 'undefined':
    case 'symbol':
    case 'function':
      return null;
    case 'object':
      return value === null ? null : convertObject(value, above);
  }
}

function convertObject(value: object, above: Set<object>): JsonValue {
  if (above.has(value)) return '[circular]';
  if (above.size >= maxDepth) return '[too deep]';
  above.add(value);
  try {
    // Before `toJSON`: a Buffer's own gives every byte as a number, and errors of some clients give their requests.
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return { bytes: value.byteLength };
    if (value instanceof Error) return convertError(value);
    if ('toJSON' in value && typeof value.toJSON === 'function') return convert(value.toJSON(), above);
    if (Array.isArray(value) || value instanceof Map || value instanceof Set)
      return Array.from<unknown, JsonValue>(value, (item) => convert(item, above)); // `map` would leave holes.
    return convertMembers(value, above);
  } catch {
    return '[unserializable]';
  } finally {
    above.delete(value);
  }
}

function convertError(error: Error): JsonObject {
  const code = 'code' in error && typeof error.code === 'string' ? { code: toWellFormed(error.code) } : {};
  return { name: toWellFormed(error.name), message: toWellFormed(error.message), ...code };
}

function convertMembers(value: object, above: Set<object>): JsonObject {
  const members: [string, JsonValue][] = [];
  for (const key of Object.keys(value)) {
    const member = read(value, key);
    if (member !== undefined && typeof member !== 'function' && typeof member !== 'symbol')
      members.push([toWellFormed(key), convert(member, above)]);
  }
  return Object.fromEntries(members);
}

function read(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return '[unserializable]';
  }
}
