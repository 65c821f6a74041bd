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

function queryOf({ request }: OpenCall, name: string): string | undefined {
  const value = request.query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw new InvalidInputError(`${name} may be given once only.`, name);
}

function parseCursor(text: string, param: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidInputError(`${param} must be a whole number from 0 on.`, param);
}
