import { keyIds, type KeyId } from '../core/ids.ts';
import { NotFoundError } from '../core/errors.ts';
import type { Services } from './services.ts';

/** From the next request on it is none (U-041). @throws NotFoundError  Unknown, or revoked before. */
export async function revokeKey({ store, clock }: Pick<Services, 'store' | 'clock'>, name: string): Promise<KeyId> {
  const keyId = keyIds.parse(name);
  const record = keyId === undefined ? null : await store.key(keyId);
  if (record === null || record.revokedAtMs !== null) throw new NotFoundError('key');
  await store.putKey({ ...record, revokedAtMs: clock.now() });
  return record.keyId;
}
