import { InvalidInputError } from '../core/errors.ts';
import type { AuditEntry, AuditFilter } from '../stores/principal-store.ts';
import type { Services } from './services.ts';

export interface AuditQuery extends Pick<AuditFilter, 'principal' | 'action' | 'limit'> {
  readonly cursor: string | null;
}

/** Who did what, newest first (UR-42). @throws InvalidInputError  The cursor is none. */
export async function readAudit(
  { store }: Services,
  { cursor, limit, ...filter }: AuditQuery,
): Promise<{ readonly entries: readonly AuditEntry[]; readonly next: string | null }> {
  if (cursor !== null && (await store.auditEntry(cursor)) === null)
    throw new InvalidInputError('This cursor is none that this list gave.', 'cursor');
  const found = await store.audit({ ...filter, ...(cursor === null ? {} : { after: cursor }), limit: limit + 1 });
  const entries = found.slice(0, limit);
  return { entries, next: found.length > limit ? (entries.at(-1)?.entryId ?? null) : null };
}
