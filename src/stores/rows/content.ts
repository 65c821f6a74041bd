import { createHash } from 'node:crypto';
import { DamageError } from '../../core/errors.ts';
import { bytes as blob, type Fields } from './columns.ts';

/** The name of some bytes (E-844). */
export function refOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** @throws DamageError  What is there is not what was stored. */
export function contentOf(row: Fields, ref: string): Uint8Array {
  const bytes = blob(row, 'bytes');
  if (refOf(bytes) !== ref) throw new DamageError(`The content ${ref} is damaged.`);
  return bytes;
}
