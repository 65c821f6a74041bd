// Foreign JSON, read loosely: what has another shape than expected is not there.

import { isJsonObject, type JsonObject } from '../../../core/json.ts';
import type { RelayError } from '../relay-fact.ts';
import { asCount, type Usage } from '../../../core/usage.ts';

export function textIn(fields: JsonObject, name: string): string | null {
  const value = fields[name];
  return typeof value === 'string' && value !== '' ? value : null;
}

export function countIn(fields: JsonObject, name: string): number | null {
  return asCount(fields[name]);
}

/** Without members where there is no object of that name. */
export function objectIn(fields: JsonObject, name: string): JsonObject {
  const value = fields[name];
  return isJsonObject(value) ? value : {};
}

export function objectsIn(fields: JsonObject, name: string): readonly JsonObject[] {
  const value = fields[name];
  return Array.isArray(value) ? value.filter((each) => isJsonObject(each)) : [];
}

/** What is known of several counts; null where nothing is. */
export function sum(...counts: readonly (number | null)[]): number | null {
  const known = counts.filter((count) => count !== null);
  return known.length === 0 ? null : known.reduce((total, count) => total + count, 0);
}

/** Null where no number is known at all. */
export function usageOf(usage: Partial<Usage>): Usage | null {
  if (Object.values(usage).every((count) => count === null)) return null;
  const { inputTokens = null, outputTokens = null, thinkingTokens = null } = usage;
  const { cacheReadInputTokens = null, cacheCreationInputTokens = null } = usage;
  return { inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens, thinkingTokens };
}

/** An error as every wire writes it, in its body or in an event: in a member of its own, as a word, or bare. */
export function errorIn(fields: JsonObject): RelayError | null {
  const value = fields['error'];
  if (typeof value === 'string') return { type: null, message: textIn(fields, 'message') ?? value };
  const error = isJsonObject(value) ? value : fields;
  const type = [error['type'], error['status'], error['code']].find(
    (word) => typeof word === 'string' && word !== 'error',
  );
  const message = textIn(error, 'message') ?? textIn(error, 'detail');
  if (message === null && value === undefined) return null;
  return { type: typeof type === 'string' ? type : null, message: message ?? '' };
}
