import { CursorError } from '../core/errors.ts';
import type { RunId } from '../core/ids.ts';

/** A place in the log of one run: opaque text, made from the number of the last event that was seen (E-054). */
export function cursorOf({ runId, seq }: { readonly runId: RunId; readonly seq: number }): string {
  return Buffer.from(`${runId} ${seq}`).toString('base64url');
}

/** @throws CursorError  It is malformed, or of another run. Whether it lies ahead of the log is for who knows its end. */
export function seqOf(cursor: string, runId: RunId): number {
  const [, owner, number = ''] = /^(\S+) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (owner === undefined) throw new CursorError('This cursor is malformed.');
  if (owner !== runId) throw new CursorError('This cursor is of another run.');
  return Number(number);
}
