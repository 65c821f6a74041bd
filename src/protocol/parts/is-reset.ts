import { isRecord } from './part-json.ts';
import type { StreamPart } from './stream-part.ts';

/** A reply was given up, with what it had shown: one of our own facts (P-061). */
export function isReset(part: StreamPart): boolean {
  return part.type === 'raw' && isRecord(part.rawValue) && part.rawValue['type'] === 'reins.attempt-reset';
}
