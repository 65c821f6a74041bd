import type { RunEventOf } from '../core/run-event.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

/**
 * The event that every log begins with; null: there is no such run, or its log is gone.
 * @throws StorageError, DamageError  It cannot be read, now or at all.
 */
export async function beginningOf(
  { store }: Pick<Services, 'store'>,
  runId: RunId,
): Promise<RunEventOf<'run-started'> | null> {
  const [first] = await store.readEvents(runId, { after: 0, limit: 1 });
  return first?.type === 'run-started' ? first : null;
}
