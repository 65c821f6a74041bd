import { findHarness } from './find-in-scope.ts';
import type { HarnessId } from '../core/ids.ts';
import type { Services } from './services.ts';

/** Its sessions and responses stay readable, and what is running goes on (U-105, UD-35). @throws NotFoundError */
export async function deleteHarness(services: Services, principal: string, harnessId: string): Promise<HarnessId> {
  const record = await findHarness(services, principal, { name: harnessId });
  await services.store.putHarness({ ...record, deleted: true });
  return record.harnessId;
}
