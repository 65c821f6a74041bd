import { ensureHarnesses } from './ensure-harness.ts';
import type { KeyRecord } from '../stores/principal-store.ts';
import type { Services } from './services.ts';

/** Stores a key. The first of a principal comes with a harness of each base (UD-34), which are there before it can be used. */
export async function createKey(
  services: Pick<Services, 'store' | 'clock' | 'random' | 'harnesses'>,
  record: KeyRecord,
): Promise<void> {
  const { store } = services;
  const isFirst = !(await store.keys()).some(({ principal }) => principal === record.principal);
  if (isFirst) await ensureHarnesses(services, record.principal);
  await store.putKey(record);
}
