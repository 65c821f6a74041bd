import { allScopes, createKey, type Scope } from './auth/keys.ts';
import { createManualClock } from './testing/manual-clock.ts';
import { expect, test } from 'vitest';
import { loopbackUrl, openConsole } from './open-console.ts';
import { openSqlite } from './stores/sqlite/open-sqlite.ts';

test.each([
  ['http://127.0.0.1:4242', 'http://127.0.0.1:4242'],
  ['http://localhost:4242', 'http://localhost:4242'],
  ['https://[::1]:4242', 'https://[::1]:4242'],
  ['http://0.0.0.0:4242', 'http://127.0.0.1:4242'],
  ['http://[::]:4242', 'http://[::1]:4242'],
  ['http://127.0.0.1:80', 'http://127.0.0.1'],
  ['http://192.168.1.7:4242', null],
  ['http://127.0.0.1.example:4242', null],
])('C-062: a server at %s can be reached from this machine at %s', (url, loopback) => {
  expect(loopbackUrl(url)).toBe(loopback);
});

test("C-062: the link at the start signs in with all of the owner's rights, or not at all", async () => {
  await using store = openSqlite(':memory:');
  const page = openConsole({ store, operatorKey: null, owner: 'owner', clock: createManualClock() });
  const put = async (principal: string, scopes: readonly Scope[], atMs: number) => {
    const { record } = createKey({ principal, scopes, atMs });
    await store.putKey(record);
    return record;
  };
  await put('owner', ['read'], 1);
  await put('ada', allScopes, 2);
  expect(await page.link('http://127.0.0.1:4242')).toBe('http://127.0.0.1:4242/');
  const { keyId } = await put('owner', allScopes, 3);
  await put('owner', allScopes, 4);
  const ticket = (await page.link('http://127.0.0.1:4242')).split('#ticket=')[1] ?? '';
  expect((await page.parts.sessions.signInByTicket(ticket)).session).toMatchObject({ keyId, scopes: allScopes });
});
