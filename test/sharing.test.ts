// Published sessions over real HTTP (U-380 to U-385, UD-31).

import { expect, test } from 'vitest';
import { connectTo, key, type Uhp } from './support/uhp.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

type Share = { readonly id: string; readonly url: string; readonly enabled: boolean };

async function shared(uhp: Uhp, input: string) {
  const { body: task } = await uhp.create({ input, metadata: { token: 'of-the-caller' } });
  const session = `/v1/sessions/${task.metadata.session_id}`;
  const { body } = await uhp.send('POST', `${session}/share`);
  const made = body as unknown as Share;
  return { task, session, made, url: new URL(made.url, uhp.url) };
}

/** what a key of a view must not be called, where it has a value. */
const secretKeys =
  /^(?:auth|authorization|api_?key|token|access_token|refresh_token|secret|password|credentials|env|headers)$/i;

function keysOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...keysOf(inner)]);
}

test('R-01, R-02, R-08, UD-31: sharing needs no body, gives one link however often, and the link needs no key', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { uhp } = server;
  const { session, made, url } = await shared(uhp, 'Create a file named a.txt containing exactly: hello');
  expect(made).toMatchObject({ object: 'session.share', enabled: true });
  expect(made.id).toMatch(/^hshr_/);
  expect(made.url).toMatch(/^\/v1\/shared\/[\w-]{43,}$/);
  expect((await uhp.send('POST', `${session}/share`, { body: { enabled: true } })).body).toEqual(made);
  // announced as JSON, and empty.
  const empty = { body: '', headers: { 'content-type': 'application/json' } };
  expect((await uhp.send('POST', `${session}/share`, empty)).body).toEqual(made);
  expect((await uhp.send('GET', `${session}/share`)).body).toEqual(made);
  const view = await fetch(url, { headers: { accept: 'application/json' } });
  expect(view.headers.get('cache-control')).toBe('no-store');
  expect(view.headers.get('referrer-policy')).toBe('no-referrer');
  expect(await view.json()).toMatchObject({
    object: 'session.shared',
    turns: [{ status: 'completed', files: [{ filename: 'a.txt', bytes: 5 }] }],
  });
  expect((await uhp.send('POST', `${session}/share`, { body: { enabled: 'no' } })).param).toBe('enabled');
  for (const method of ['POST', 'GET', 'DELETE'])
    expect((await uhp.send(method, '/v1/sessions/hsess_nosuch/share')).code).toBe('session_not_found');
});

test('R-05, U-385: a view tells what was said, called and made, and nothing else', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { task, url } = await shared(
    server.uhp,
    'Call the tool write_file with {"path":"a.txt","content":"x","password":"p"} and reply with exactly what it returns',
  );
  const text = await (await fetch(url)).text();
  const view = JSON.parse(text) as { turns: { tools: { name: string; arguments: string }[] }[] };
  expect(keysOf(view).filter((name) => secretKeys.test(name))).toEqual([]);
  expect(view.turns[0]?.tools).toMatchObject([{ name: 'write_file' }]);
  expect(JSON.parse(view.turns[0]?.tools[0]?.arguments ?? '')).toMatchObject({ path: 'a.txt' });
  for (const hidden of [key, 'of-the-caller', task.id, String(task.metadata['harness_id']), 'container'])
    expect(text).not.toContain(hidden);
});

test('R-03, R-04, U-383: a link lets nobody change anything, and neither it nor its id is a key', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { made, url, session } = await shared(server.uhp, 'Reply with exactly: ok');
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) expect((await fetch(url, { method })).status).toBe(405);
  for (const below of ['/cancel', '/responses', '/files', '/share', '/turns'])
    for (const method of ['POST', 'GET', 'DELETE'])
      expect((await fetch(`${url.href}${below}`, { method })).status).toBe(404);
  for (const token of [made.id, made.url, made.url.split('/').at(-1) ?? '']) {
    const holder = connectTo(server.url, token);
    for (const path of ['/v1/harnesses', session]) expect((await holder.send('GET', path)).status).toBe(401);
    expect((await holder.create({ input: 'x' })).status).toBe(401);
  }
});

test('R-06, U-384: revoked by either way a link is dead, and the next one is another', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { uhp } = server;
  const { session, made, url } = await shared(uhp, 'Reply with exactly: ok');
  expect((await uhp.send('DELETE', `${session}/share`)).body).toEqual({ ...made, enabled: false });
  const again = (await uhp.send('POST', `${session}/share`)).body as unknown as Share;
  expect(again.url).not.toBe(made.url);
  expect((await fetch(url)).status).toBe(404);
  const off = await uhp.send('POST', `${session}/share`, { body: { enabled: false } });
  expect(off.body).toMatchObject({ id: again.id, enabled: false });
  expect((await fetch(new URL(again.url, server.url))).status).toBe(404);
  for (const method of ['GET', 'DELETE'])
    expect(await uhp.send(method, `${session}/share`)).toMatchObject({ status: 404, code: 'reins_share_not_found' });
});

test('R-07: a link dies with its session, deleted by the older name', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { session, url } = await shared(server.uhp, 'Reply with exactly: ok');
  const trace = session.replace('/sessions/', '/traces/');
  expect((await server.uhp.send('DELETE', trace)).body).toMatchObject({ deleted: true });
  expect((await fetch(url)).status).toBe(404);
  expect((await server.uhp.send('DELETE', trace)).code).toBe('session_not_found');
});

test('U-426: for people a view is a page without script, in no frame, with every word escaped', async () => {
  await using server = await startServer({ data: temporaryFolder() });
  const { url } = await shared(server.uhp, '<script>alert(1)</script> & "quotes"');
  const page = await fetch(url, { headers: { accept: 'text/html,application/xhtml+xml' } });
  expect(Object.fromEntries(page.headers)).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
  expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
  const html = await page.text();
  expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;');
  expect(html).not.toContain('<script');
  expect(html).toContain('The agent');
  const none = await fetch(`${url.href}x`, { headers: { accept: 'text/html' } });
  expect([none.status, none.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
  expect(await none.text()).toContain('Nothing is shared here');
});
