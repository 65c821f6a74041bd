// Reading what another server sent, of which nothing is certain.

import type { JsonObject } from '../core/json.ts';

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined also where there is no object. */
export function field(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

export function textOf(value: unknown, name: string): string | undefined {
  const text = field(value, name);
  return typeof text === 'string' ? text : undefined;
}
