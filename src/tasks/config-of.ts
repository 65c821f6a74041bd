import { beginningOf } from './beginning-of.ts';
import { DamageError } from '../core/errors.ts';
import type { RunConfig } from '../core/run-config.ts';
import type { RunId } from '../core/ids.ts';
import type { Services } from './services.ts';

/**
 * Null for a log that is damaged, or names none: who takes the run ends it.
 * @throws StorageError  The store cannot be read now.
 */
export async function configOf({ store }: Pick<Services, 'store'>, runId: RunId): Promise<RunConfig | null> {
  const begin = await beginningOf({ store }, runId).catch((cause: unknown) => {
    if (cause instanceof DamageError) return null;
    throw cause;
  });
  return begin?.data._config ?? null;
}
