// Keys: random text that only its holder has; the store keeps a hash (UD-69). A hash without salt or stretching is enough,
// as a key is 256 random bits and no password.

import { createHash, randomBytes } from 'node:crypto';
import { InvalidInputError } from '../core/errors.ts';
import { keyIds } from '../core/ids.ts';
import type { KeyRecord } from '../stores/store.ts';

export type { KeyRecord } from '../stores/store.ts';

/** What a key may do (UR-34). */
export type Scope = 'read' | 'tasks' | 'manage' | 'admin';
export const allScopes: readonly Scope[] = ['read', 'tasks', 'manage', 'admin'];
const usualScopes: readonly Scope[] = ['read', 'tasks', 'manage'];

/** Of a new key; null: the usual ones (UR-34). @throws InvalidInputError  An unknown one, or none at all. */
export function scopesOf(names: readonly string[] | null): readonly Scope[] {
  if (names === null) return usualScopes;
  const known = `A key has some of the scopes ${allScopes.join(', ')}.`;
  if (names.length === 0) throw new InvalidInputError(known, 'scopes');
  const scopes = names.map((name, index) => {
    const scope = allScopes.find((each) => each === name);
    if (scope === undefined) throw new InvalidInputError(known, `scopes[${index}]`);
    return scope;
  });
  return [...new Set(scopes)];
}

/** `rk_` and 256 random bits as base64url. Shown once, never stored. */
export function makeKey(): string {
  return `rk_${randomBytes(32).toString('base64url')}`;
}

/** SHA-256 as hex: what the store keeps and looks up. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

export interface KeyFacts {
  readonly principal: string;
  readonly scopes: readonly Scope[];
  readonly atMs: number;
  /** For people; absent: none. */
  readonly name?: string;
  /** A key that the operator chose. Absent: a new one is made. */
  readonly key?: string;
}

/** The text for the holder and the record for the store. */
export function createKey(facts: KeyFacts): { readonly key: string; readonly record: KeyRecord } {
  const key = facts.key ?? makeKey();
  const { principal, scopes, atMs, name = null } = facts;
  // The id is made from the hash: the same key gives the same record on every start.
  const hash = hashKey(key);
  const keyId = keyIds.make(hash.slice(0, 24));
  return { key, record: { keyId, principal, name, hash, scopes, createdAtMs: atMs, revokedAtMs: null } };
}

/** The operator's own key: principal `owner`, every scope. */
export function createOwnerKey(atMs: number, key?: string): ReturnType<typeof createKey> {
  return createKey({ principal: 'owner', scopes: allScopes, atMs, ...(key === undefined ? {} : { key }) });
}
