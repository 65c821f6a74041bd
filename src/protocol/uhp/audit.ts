export type UhpAuditEntry = {
  readonly id: string;
  /** Unix seconds. */
  readonly at: number;
  readonly principal: string;
  readonly key_id: string;
  readonly action: string;
  readonly object: string;
  readonly request_id: string;
};

export interface AuditFacts {
  readonly entryId: string;
  readonly atMs: number;
  readonly principal: string;
  readonly keyId: string;
  readonly action: string;
  readonly object: string;
  readonly requestId: string;
}

export function toUhpAuditEntry(facts: AuditFacts): UhpAuditEntry {
  const { entryId, atMs, principal, keyId, action, object, requestId } = facts;
  return { id: entryId, at: Math.floor(atMs / 1_000), principal, key_id: keyId, action, object, request_id: requestId };
}
