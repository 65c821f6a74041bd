import { describe, expect, test } from 'vitest';
import { RequestError } from '../core/errors.ts';
import { keyIds } from '../core/ids.ts';
import type { KeyRecord } from '../stores/store.ts';
import { authenticate, requireScope } from './authenticate.ts';
import { allScopes, createKey, createOwnerKey, hashKey, makeKey } from './keys.ts';

function keysOf(...records: KeyRecord[]) {
  const byHash = new Map(records.map((record) => [record.hash, record]));
  return { keyByHash: async (hash: string) => byHash.get(hash) ?? null };
}

async function refusal(promise: Promise<unknown>): Promise<Pick<RequestError, 'status' | 'code' | 'message'>> {
  const error = await promise.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (!(error instanceof RequestError)) throw new Error('This was not refused.');
  return { status: error.status, code: error.code, message: error.message };
}

describe('keys', () => {
  test('UD-69: a key is 256 random bits, and its record holds the hash only', () => {
    const { key, record } = createKey({ principal: 'ada', scopes: ['read'], atMs: 5 });
    expect(key).toMatch(/^rk_[A-Za-z0-9_-]{43}$/);
    expect(makeKey()).not.toBe(makeKey());
    expect(record).toEqual({
      keyId: record.keyId,
      principal: 'ada',
      name: null,
      hash: hashKey(key),
      scopes: ['read'],
      createdAtMs: 5,
      revokedAtMs: null,
    });
    expect(JSON.stringify(record)).not.toContain(key.slice(3));
  });

  test("UD-69: the operator's fixed key is the owner's, with every scope, under one id at every start", () => {
    const [first, second] = [createOwnerKey(1, 'chosen-by-hand'), createOwnerKey(2, 'chosen-by-hand')];
    expect(first.record).toMatchObject({ principal: 'owner', scopes: allScopes });
    expect(first.record.keyId).toBe(second.record.keyId);
  });
});

describe('authenticate', () => {
  test('U-040: the scheme is matched whatever its case', async () => {
    const { key, record } = createOwnerKey(1);
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect(await authenticate(keysOf(record), `${scheme} ${key}`)).toEqual({
        principal: 'owner',
        scopes: allScopes,
        keyId: record.keyId,
      });
  });

  test('U-041: no header is a missing credential', async () => {
    expect(await refusal(authenticate(keysOf(), undefined))).toMatchObject({ status: 401, code: 'missing_credential' });
  });

  test('U-041: malformed, unknown and revoked keys get one and the same answer', async () => {
    const { key, record } = createOwnerKey(1);
    const store = keysOf({ ...record, revokedAtMs: 2 });
    const headers = [`Bearer ${key}`, 'Bearer rk_unknown', 'Bearer', 'Bearer a b', `Basic ${key}`, key];
    const refusals = await Promise.all(headers.map((header) => refusal(authenticate(store, header))));
    expect(new Set(refusals.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(refusals[0]).toMatchObject({ status: 401, code: 'invalid_credential' });
  });

  test('U-045: a key without the scope is refused for the kind of operation', () => {
    const caller = { principal: 'ada', keyId: keyIds.make('1'), scopes: ['read'] };
    expect(() => requireScope(caller, 'read')).not.toThrow();
    expect(() => requireScope(caller, 'tasks')).toThrow(
      expect.objectContaining({ status: 403, code: 'insufficient_scope' }),
    );
  });
});
