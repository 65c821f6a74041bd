import { StorageError } from '../core/errors.ts';
import type { EndedRun } from './store.ts';
import type { AdmitResult } from './admission.ts';

export type KeepRefusal = Extract<AdmitResult, { outcome: 'busy' | 'not-tip' | 'no-session' | 'expired' }>;

/** A run that ended elsewhere does not fit to what is here; nothing was kept. */
export class NotKeptError extends StorageError {
  override get retryable(): boolean {
    return false;
  }
  readonly refusal: KeepRefusal;
  constructor({ runId, sessionId }: Pick<EndedRun, 'runId' | 'sessionId'>, refusal: KeepRefusal) {
    const isOthers = refusal.outcome === 'no-session' || refusal.outcome === 'expired';
    const why = isOthers ? "that was deleted here, or is somebody else's" : 'that has gone on here, in another way';
    super(`${runId} cannot be put into ${sessionId}: ${why}.`);
    this.refusal = refusal;
  }
}
