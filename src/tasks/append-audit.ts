import type { AuditEntry } from '../stores/principal-store.ts';
import type { Services } from './services.ts';

const auditPrefix = 'aud_';

/** What was done; of the request nothing but its id (UR-54). */
export type AuditFact = Omit<AuditEntry, 'entryId' | 'atMs'>;

export function appendAudit({ store, clock, random }: Services, fact: AuditFact): Promise<void> {
  return store.appendAudit({ ...fact, entryId: `${auditPrefix}${random.token()}`, atMs: clock.now() });
}
