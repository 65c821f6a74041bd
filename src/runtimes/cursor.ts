import { CursorError } from '../core/errors.ts';
import type { RunId } from '../core/ids.ts';

/** A place in the log of one run: opaque text, made from the number of the last event that was seen (E-054). */
export function cursorOf(runId: RunId, seq: number): string {
  return Buffer.from(`${runId} ${seq}`).toString('base64url');
}

/** @throws CursorError  It is malformed, or of another run. Whether it lies ahead of the log is for who knows its end. */
export function seqOf(cursor: string, runId: RunId): number {
  const [owner, number, ...rest] = Buffer.from(cursor, 'base64url').toString().split(' ');
  const seq = Number(number);
  if (owner === undefined || rest.length > 0 || !Number.isSafeInteger(seq) || seq < 0)
    throw new CursorError('This cursor is malformed.');
  if (owner !== runId) throw new CursorError('This cursor is of another run.');
  return seq;
}
