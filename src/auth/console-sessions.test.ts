import { expect, test } from 'vitest';
import { allScopes, createKey, createOwnerKey, type KeyRecord } from './keys.ts';
import { createConsoleSessions, sessionSeconds } from './console-sessions.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { keysInForce } from './keys-in-force.ts';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { systemRandom } from '../system.ts';

async function open({ operatorKey = null }: { readonly operatorKey?: KeyRecord | null } = {}) {
  const [store, clock] = [openSqlite(':memory:'), createManualClock()];
  const made = createKey({ principal: 'ada', scopes: ['read'], atMs: 1 });
  await store.putKey(made.record);
  const parts = { store, clock, random: systemRandom, keys: keysInForce(store, operatorKey) };
  return { ...made, store, clock, parts, sessions: createConsoleSessions(parts) };
}

const invalidTicket = expect.objectContaining({ status: 401, code: 'reins_ticket_invalid' });

test('S1: a session is what its key is, and is over the moment the key is revoked', async () => {
  const { sessions, key, record, store } = await open();
  const [one, two] = [await sessions.signInByKey(key), await sessions.signInByKey(key)];
  expect(one.token).not.toBe(two.token);
  expect(await sessions.find(one.token)).toMatchObject({ principal: 'ada', scopes: ['read'], keyId: record.keyId });
  await sessions.signOut(one.token);
  expect([await sessions.find(one.token), await sessions.find(two.token)]).toMatchObject([null, { principal: 'ada' }]);
  await store.putKey({ ...record, revokedAtMs: 2 });
  expect(await sessions.find(two.token)).toBeNull();
});

test("S1: a session of the operator's key is one as long as a process has that key", async () => {
  const operator = createOwnerKey(1, 'by-hand');
  const { sessions, parts, store } = await open({ operatorKey: operator.record });
  const { token } = await sessions.signInByKey('by-hand');
  expect(await sessions.find(token)).toMatchObject({ principal: 'owner', scopes: allScopes });
  const without = createConsoleSessions({ ...parts, keys: keysInForce(store, null) });
  expect(await without.find(token)).toBeNull();
});

test('S2: a session outlives the process for 30 days, and the store has nothing that could be sent', async () => {
  const { sessions, parts, key, store, clock } = await open();
  const { token } = await sessions.signInByKey(key);
  expect(await createConsoleSessions(parts).find(token)).toMatchObject({ principal: 'ada' });
  expect(await store.consoleSession(token)).toBeNull();
  await clock.advance(sessionSeconds * 1_000 - 1);
  expect(await sessions.find(token)).not.toBeNull();
  await clock.advance(1);
  expect(await sessions.find(token)).toBeNull();
});

test('S3, B127: a ticket works once, for ten minutes, in its own process, and only while its key does', async () => {
  const { sessions, parts, record, store, clock } = await open();
  const refused = (ticket: string, at = sessions) => expect(at.signInByTicket(ticket)).rejects.toEqual(invalidTicket);
  const ticket = sessions.makeTicket(record.keyId);
  await refused(ticket, createConsoleSessions(parts));
  const both = await Promise.allSettled([sessions.signInByTicket(ticket), sessions.signInByTicket(ticket)]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  await refused(ticket);
  await refused('');
  const late = sessions.makeTicket(record.keyId);
  await clock.advance(600_000);
  await refused(late);
  const orphan = sessions.makeTicket(record.keyId);
  await store.putKey({ ...record, revokedAtMs: 2 });
  await refused(orphan);
});

test('U-041: a key that is no key signs nobody in', async () => {
  const { sessions } = await open();
  for (const key of ['', 'rk_unknown', 'two words', 'a\nb'])
    await expect(sessions.signInByKey(key)).rejects.toMatchObject({ status: 401, code: 'invalid_credential' });
});
