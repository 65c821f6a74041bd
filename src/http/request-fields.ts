// What a request says beside its body: header and query values, each parsed or refused with its name as `param`.

import { InvalidInputError } from '../core/errors.ts';
import { oneHeader } from './door.ts';
import type { OpenCall } from './route.ts';

/** 1 to 255 visible ASCII characters (UD-10); null = none sent. */
export function idempotencyKeyOf({ request }: OpenCall): string | null {
  const key = oneHeader(request.headers['idempotency-key']);
  if (key === undefined) return null;
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new InvalidInputError('An idempotency key is 1 to 255 visible ASCII characters.', 'Idempotency-Key');
}

/** `Last-Event-ID`: the last event the reader has; null = none sent (UD-17). */
export function lastEventIdOf({ request }: OpenCall): number | null {
  const text = oneHeader(request.headers['last-event-id']);
  return text === undefined ? null : parseCursor(text, 'Last-Event-ID');
}

/** The cursor of a re-attaching GET: the header beats the query (UD-17). */
export function cursorOf(call: OpenCall): number | null {
  const fromHeader = lastEventIdOf(call);
  if (fromHeader !== null) return fromHeader;
  const text = queryOf(call, 'starting_after');
  return text === undefined ? null : parseCursor(text, 'starting_after');
}

/** A flag of the query; null = not sent. */
export function flagOf(call: OpenCall, name: string): boolean | null {
  switch (queryOf(call, name)) {
    case undefined:
      return null;
    case 'true':
      return true;
    case 'false':
      return false;
    default:
      throw new InvalidInputError(`${name} must be true or false.`, name);
  }
}

/** A text of the query. @throws InvalidInputError  It came twice. */
export function queryOf({ request }: OpenCall, name: string): string | undefined {
  const value = request.query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new InvalidInputError(`${name} may be given once only.`, name);
}

function parseCursor(text: string, param: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidInputError(`${param} must be a whole number from 0 on.`, param);
}

const [defaultPage, largestPage] = [20, 100];

/** Which part of a list is asked for (UD-51). An empty cursor counts as none. @param usual  Where no limit is named. */
export function pageOf(
  call: OpenCall,
  usual = defaultPage,
): { readonly limit: number; readonly cursor: string | null } {
  const text = queryOf(call, 'limit');
  const limit = text === undefined ? usual : Number(text);
  if (!/^\d+$/.test(text ?? '1') || limit < 1)
    throw new InvalidInputError('limit must be a whole number from 1 on.', 'limit');
  return { limit: Math.min(limit, largestPage), cursor: queryOf(call, 'cursor') || null };
}

/** A word of the query out of those that are known; null = not sent. */
export function wordOf<T extends string>(call: OpenCall, name: string, words: readonly T[]): T | null {
  const text = queryOf(call, name);
  if (text === undefined) return null;
  const word = words.find((known) => known === text);
  if (word === undefined) throw new InvalidInputError(`${name} must be one of ${words.join(', ')}.`, name);
  return word;
}
