import type { KeyRecord } from '../stores/principal-store.ts';
import type { Services } from './services.ts';

/** All keys that are valid, of every principal, oldest first. */
export async function listKeys({ store }: Pick<Services, 'store'>): Promise<readonly KeyRecord[]> {
  return (await store.keys()).filter(({ revokedAtMs }) => revokedAtMs === null);
}
