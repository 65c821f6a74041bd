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

/** Null = no cap. */
export interface TaskCaps {
  readonly runningTasks: number | null;
  readonly tasksPerMinute: number | null;
}

export interface TaskCounts {
  readonly running: number;
  readonly begun: number;
  /** Of those begun: when a window opens again. */
  readonly oldestAtMs: number | null;
}

export interface CapReached {
  readonly cap: keyof TaskCaps;
  /** Null where it cannot be told: a task has to end first. */
  readonly retryAfterMs: number | null;
}

/** What may be spent on a day; null = no limit. */
export interface DayQuota {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly tokens: number | null;
  readonly dollars: number | null;
}

export interface QuotaReached {
  readonly quota: 'tokens' | 'dollars';
  readonly limit: number;
  readonly used: number;
}

/** The quota of which nothing is left; null: none. */
export function quotaReached(limits: Omit<DayQuota, 'day'>, spent: Spending): QuotaReached | null {
  for (const quota of ['tokens', 'dollars'] as const) {
    const { [quota]: limit } = limits;
    if (limit !== null && spent[quota] >= limit) return { quota, limit, used: spent[quota] };
  }
  return null;
}

export const capWindowMs = 60_000;

/** The cap that is reached by who has so many tasks; null: none (UR-53). @param counts  Those begun in the window before `atMs`. */
export function capReached(
  caps: TaskCaps,
  { running, begun, oldestAtMs }: TaskCounts,
  atMs: number,
): CapReached | null {
  const { runningTasks, tasksPerMinute } = caps;
  if (runningTasks !== null && running >= runningTasks) return { cap: 'runningTasks', retryAfterMs: null };
  if (tasksPerMinute === null || begun < tasksPerMinute) return null;
  return { cap: 'tasksPerMinute', retryAfterMs: (oldestAtMs ?? atMs) + capWindowMs - atMs };
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

/** A browser that signed in to the console page with a key. */
export interface ConsoleSessionRecord {
  /** SHA-256 of what its cookie holds, hex; that itself is never stored. */
  readonly hash: string;
  readonly keyId: KeyId;
  readonly expiresAtMs: number;
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

  /** Also one that has expired. */
  consoleSession(hash: string): Promise<ConsoleSessionRecord | null>;
  /** Takes those away that have expired by `nowMs`. */
  putConsoleSession(record: ConsoleSessionRecord, nowMs: number): Promise<void>;
  deleteConsoleSession(hash: string): Promise<void>;

  /** @param day  `YYYY-MM-DD`, UTC. */
  spending(principal: string, day: string): Promise<Spending>;
  spend(principal: string, day: string, more: Partial<Spending>): Promise<void>;
  /** Charges uploaded bytes where all of them have room: of many at once none passes the limit. False: nothing was charged. */
  reserveUpload(
    principal: string,
    day: string,
    upload: { readonly bytes: number; readonly limit: number | null },
  ): Promise<boolean>;
  /** Tasks of a principal: at work now, and begun since. */
  taskCounts(principal: string, sinceMs: number): Promise<TaskCounts>;

  appendAudit(entry: AuditEntry): Promise<void>;
  auditEntry(entryId: string): Promise<AuditEntry | null>;
  audit(filter: AuditFilter): Promise<readonly AuditEntry[]>;
  pruneAudit(beforeMs: number): Promise<number>;
}
