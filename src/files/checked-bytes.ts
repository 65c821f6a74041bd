import { createHash } from 'node:crypto';
import { DamageError } from '../core/errors.ts';
import type { BlobSum } from './blob-store.ts';

/**
 * The same bytes, one chunk behind: nobody has all of them before they are known to be the right ones.
 * @throws DamageError  They are others, more or fewer.
 */
export async function* checkedBytes(
  source: AsyncIterable<Uint8Array>,
  { bytes, sha256 }: BlobSum,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let [passed, last]: [number, Uint8Array | null] = [0, null];
  for await (const chunk of source) {
    if (last !== null) yield last;
    hash.update(chunk);
    passed += chunk.byteLength;
    last = chunk;
  }
  if (passed !== bytes || hash.digest('hex') !== sha256) throw new DamageError('A file is not as it was stored.');
  if (last !== null) yield last;
}
