// What belongs to a principal: keys, what was spent, what was done.

import type { KeyId } from '../core/ids.ts';

export interface KeyRecord {
  readonly keyId: KeyId;
  readonly principal: string;
  /** For people; null = none. */
  readonly name: string | null;
  /** SHA-256 of the key, hex. The key itself is never stored (UD-69). */
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
}

/** Of one principal on one UTC day; a figure that nobody gave is not counted. */
export interface Spending {
  readonly tokens: number;
  readonly dollars: number;
  readonly uploadBytes: number;
}

export interface AuditEntry {
  readonly entryId: string;
  readonly atMs: number;
  readonly principal: string;
  readonly keyId: string;
  /** As `key.create`. */
  readonly action: string;
  /** The id of what it was done to. */
  readonly object: string;
  readonly requestId: string;
}

export interface AuditFilter {
  readonly principal?: string;
  readonly action?: string;
  /** Newest first; those behind this one. */
  readonly after?: string;
  readonly limit: number;
}

export interface PrincipalStore {
  keyByHash(hash: string): Promise<KeyRecord | null>;
  key(keyId: KeyId): Promise<KeyRecord | null>;
  keys(): Promise<readonly KeyRecord[]>;
  putKey(record: KeyRecord): Promise<void>;

  /** @param day  `YYYY-MM-DD`, UTC. */
  spending(principal: string, day: string): Promise<Spending>;
  spend(principal: string, day: string, more: Partial<Spending>): Promise<void>;
  /** Tasks of a principal: at work now, and begun since; of the latter the oldest, when a window opens again. */
  taskCounts(
    principal: string,
    sinceMs: number,
  ): Promise<{ readonly running: number; readonly begun: number; readonly oldestAtMs: number | null }>;

  appendAudit(entry: AuditEntry): Promise<void>;
  audit(filter: AuditFilter): Promise<readonly AuditEntry[]>;
  pruneAudit(beforeMs: number): Promise<number>;
}
