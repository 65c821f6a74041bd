// A JSON body at the door: `null` is absent, a wrong type is refused with the path of the field (UD-45). From here on text
// is well-formed (E-106), and no value is nested deeper than `maxDepth`.

import type * as z from 'zod';
import { InvalidInputError } from '../../core/errors.ts';
import { isJsonObject, toJsonValue, type JsonObject } from '../../core/json.ts';

const maxDepth = 64;

/** The body as an object. @throws InvalidInputError */
export function readBody(body: unknown): JsonObject {
  if (deeperThan(body, maxDepth)) throw new InvalidInputError(`The body is nested deeper than ${maxDepth} levels.`);
  const sent = toJsonValue(body);
  if (!isJsonObject(sent)) throw new InvalidInputError('The body must be a JSON object.');
  return sent;
}

/** @throws InvalidInputError  With the dotted path of the first field at fault. */
export function checkFields<T extends z.ZodType>(schema: T, sent: JsonObject): z.infer<T> {
  const parsed = schema.safeParse(sent);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const param = issue === undefined || issue.path.length === 0 ? undefined : pathOf(issue.path);
  throw new InvalidInputError(`${param ?? 'The body'} ${issue?.message ?? 'is not valid'}.`, param);
}

export function parseBody<T extends z.ZodType>(schema: T, body: unknown): z.infer<T> {
  return checkFields(schema, readBody(body));
}

function pathOf(path: readonly PropertyKey[]): string {
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`))
    .join('');
}

/** Walks level by level, so that a hostile nesting cannot exhaust the stack. */
function deeperThan(value: unknown, limit: number): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    level = level.flatMap((item) => (typeof item === 'object' && item !== null ? Object.values(item) : []));
  }
  return false;
}
