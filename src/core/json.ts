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
  if (isJsonObject(value)) {
    const keys = Object.keys(value).toSorted();
    return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`).join(',')}}`;
  }
  return JSON.stringify(value);
}

/**
 * Whatever a tool returned, as strict JSON (E-009, E-551): BigInt, dates and functions become text, NaN and Infinity and
 * undefined become null, a cycle becomes "[circular]", a throwing getter or `toJSON` becomes "[unserializable]", lone
 * surrogates become U+FFFD. Never throws.
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
      return Number.isFinite(value) ? value : null;
    case 'bigint':
      return value.toString();
    case 'undefined':
      return null;
    case 'symbol':
    case 'function':
      return `[${typeof value}]`;
    case 'object':
      return value === null ? null : convertObject(value, above);
  }
}

function convertObject(value: object, above: Set<object>): JsonValue {
  if (above.has(value)) return '[circular]';
  above.add(value);
  try {
    if ('toJSON' in value && typeof value.toJSON === 'function') return convert(value.toJSON(), above);
    if (Array.isArray(value)) return Array.from(value, (item) => convert(item, above)); // `map` would leave holes.
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    return Object.fromEntries(entries.map(([key, item]) => [toWellFormed(key), convert(item, above)]));
  } catch {
    return '[unserializable]';
  } finally {
    above.delete(value);
  }
}
