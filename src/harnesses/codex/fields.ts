// Native JSON, read loosely: what has another shape than expected is not there.

import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts';

export function textIn(fields: JsonObject, name: string): string | null {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

export function countIn(fields: JsonObject, name: string): number {
  const value = fields[name];
  return typeof value === 'number' && value > 0 ? value : 0;
}

/** Without members where there is no object of that name. */
export function objectIn(fields: JsonObject, name: string): JsonObject {
  const value = fields[name];
  return isJsonObject(value) ? value : {};
}

export function listIn(fields: JsonObject, name: string): readonly JsonValue[] {
  const value = fields[name];
  return Array.isArray(value) ? value : [];
}

export function objectsIn(fields: JsonObject, name: string): readonly JsonObject[] {
  return listIn(fields, name).filter((each) => isJsonObject(each));
}
