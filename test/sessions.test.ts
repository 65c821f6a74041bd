// Sessions over real HTTP (U-075 to U-086, U-350 to U-385, UD-28, UD-31, UD-50, UD-51).

import { afterEach, expect, test } from 'vitest';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startServer, type RunningServer } from './support/in-process-server.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function open(settings = {}): Promise<RunningServer> {
  const server = await startServer(settings);
  cleanups.push(() => server.close());
  return server;
}

const ok = 'Reply with exactly: ok';
const create = (name: string, content: string) => `Create a file named ${name} containing exactly: ${content}`;

async function run(server: RunningServer, input: string, more: Record<string, unknown> = {}) {
  const { status, body } = await server.call('POST', '/v1/responses', { input, ...more });
  const session = String((body['metadata'] as Record<string, unknown> | undefined)?.['session_id']);
  return { status, body, id: String(body['id']), session };
}

async function fileTexts(server: RunningServer, session: string): Promise<Record<string, string>> {
  const { body } = await server.call('GET', `/v1/sessions/${session}/files`);
  const files = body['files'] as { id: string; container_id: string; filename: string }[];
  const texts = files.map(async ({ id, container_id: container, filename }) => {
    const { body: content } = await server.call('GET', `/v1/containers/${container}/files/${id}/content`);
    return [filename, content['text']] as const;
  });
  return Object.fromEntries(await Promise.all(texts)) as Record<string, string>;
}

test('U-354, U-356: a session tells its status, and its turns what was asked, answered, called and made', async () => {
  const server = await open();
  const first = await run(server, create('a.txt', 'hello'));
  await run(server, ok, { previous_response_id: first.id });
  const { body } = await server.call('GET', `/v1/sessions/${first.session}`);
  expect(body).toMatchObject({
    id: first.session,
    object: 'session',
    status: 'completed',
    title: create('a.txt', 'hello'),
  });
  const turns = (await server.call('GET', `/v1/sessions/${first.session}/turns`)).body['turns'] as Record<
    string,
    unknown
  >[];
  expect(turns).toMatchObject([
    { id: first.id, status: 'completed', user: create('a.txt', 'hello'), files: [{ filename: 'a.txt', bytes: 5 }] },
    { user: ok, assistant: 'ok', tools: [], files: [] },
  ]);
  expect((turns[0]?.['tools'] as unknown[]).length).toBeGreaterThan(0);
});

test('UT-32: walking the pages while sessions change neither loops nor repeats, and a full last page has no next', async () => {
  const server = await open();
  const made = new Map<string, string>();
  for (let index = 0; index < 6; index++) {
    const { id, session } = await run(server, ok);
    made.set(session, id);
  }
  const seen: string[] = [];
  let path = '/v1/sessions?limit=2';
  for (let page = 0; page < 3; page++) {
    const { body } = await server.call('GET', path);
    const ids = (body['sessions'] as { id: string }[]).map(({ id }) => id);
    seen.push(...ids);
    // A session that was seen comes up again, at the top.
    await run(server, ok, { previous_response_id: made.get(ids[0] ?? '') });
    const next = body['next_cursor'];
    if (page === 2) expect(next).toBeNull();
    path = `/v1/sessions?limit=2&cursor=${String(next)}`;
  }
  expect(new Set(seen)).toEqual(new Set(made.keys()));
  expect(seen).toHaveLength(6);
  expect((await server.call('GET', '/v1/sessions?cursor=!!')).body).toMatchObject({ error: { param: 'cursor' } });
  expect((await server.call('GET', '/v1/sessions?limit=0')).status).toBe(400);
  expect((await server.call('GET', '/v1/sessions?harness=chrn_other')).body).toEqual({
    sessions: [],
    next_cursor: null,
  });
});

test('B106: of fifty tasks that continue one response exactly one is accepted', async () => {
  const server = await open({ demo: { speed: 'human' } });
  const first = await run(server, ok);
  const tasks = Array.from({ length: 50 }, () =>
    server.call('POST', '/v1/responses', { input: ok, previous_response_id: first.id }),
  );
  const answers = await Promise.all(tasks);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const codes = answers
    .filter(({ status }) => status !== 200)
    .map(({ body }) => (body['error'] as { code: string }).code);
  expect(new Set(codes)).toEqual(new Set(['session_busy']));
});

test('UT-31: a session that is deleted while it runs is stopped first, then nothing of it is left', async () => {
  const server = await open({ demo: { speed: 'human' } });
  const first = await run(server, create('a.txt', 'x'));
  const { session } = first;
  const [file] = (await server.call('GET', `/v1/sessions/${session}/files`)).body['files'] as Record<string, string>[];
  const share = (await server.call('POST', `/v1/sessions/${session}/share`)).body;
  const long = await run(server, 'Count slowly from 1 to 200, one number per line.', {
    background: true,
    previous_response_id: first.id,
  });
  expect(long.body['status']).toBe('in_progress');
  expect((await server.call('DELETE', `/v1/traces/${session}`)).body).toEqual({ id: session, deleted: true });
  const gone = [
    ['/v1/sessions/' + session, 'session_not_found'],
    [`/v1/sessions/${session}/turns`, 'session_not_found'],
    [`/v1/sessions/${session}/files`, 'session_not_found'],
    [`/v1/sessions/${session}/share`, 'session_not_found'],
    ['/v1/responses/' + first.id, 'response_not_found'],
    ['/v1/responses/' + long.id, 'response_not_found'],
    [`/v1/containers/${file?.['container_id']}/files/${file?.['id']}/content`, 'file_not_found'],
    [String(share['url']), 'reins_share_not_found'],
  ];
  for (const [path = '', code] of gone) {
    const { status, body } = await server.call('GET', path);
    expect([path, status, (body['error'] as { code: string }).code]).toEqual([path, 404, code]);
  }
  expect((await run(server, ok, { previous_response_id: first.id })).status).toBe(404);
  for (const folder of ['workspaces', 'files']) expect(existsSync(join(server.dataDir, folder, session))).toBe(false);
  expect((await server.call('GET', '/v1/sessions')).body['sessions']).toEqual([]);
});

test('R-01 to R-08: a share is read without a key, shows no more than it says, and dies with its revocation', async () => {
  const server = await open();
  const { session } = await run(server, create('a.txt', 'hello'));
  const made = (await server.call('POST', `/v1/sessions/${session}/share`)).body;
  expect((await server.call('POST', `/v1/sessions/${session}/share`)).body).toEqual(made);
  expect((await server.call('GET', `/v1/sessions/${session}/share`)).body).toEqual(made);
  const url = new URL(String(made['url']), server.url);
  const view = await (await fetch(url)).json();
  expect(view).toMatchObject({
    object: 'session.shared',
    turns: [{ user: create('a.txt', 'hello'), files: [{ filename: 'a.txt' }] }],
  });
  const page = await fetch(url, { headers: { Accept: 'text/html' } });
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('x-frame-options')).toBe('DENY');
  expect(await page.text()).not.toContain('<script');
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) expect((await fetch(url, { method })).status).toBe(405);
  for (const below of ['/cancel', '/responses', '/files'])
    expect((await fetch(`${url.href}${below}`, { method: 'POST' })).status).toBe(404);
  expect((await server.call('GET', '/v1/harnesses', undefined, String(made['id']))).status).toBe(401);
  expect((await server.call('DELETE', `/v1/sessions/${session}/share`)).body).toMatchObject({ enabled: false });
  expect((await fetch(url)).status).toBe(404);
  expect((await server.call('GET', `/v1/sessions/${session}/share`)).status).toBe(404);
  const again = (await server.call('POST', `/v1/sessions/${session}/share`)).body;
  expect(again['url']).not.toBe(made['url']);
  await server.call('POST', `/v1/sessions/${session}/share`, { enabled: false });
  expect((await fetch(new URL(String(again['url']), server.url))).status).toBe(404);
});

test('a share escapes what a session says', async () => {
  const server = await open();
  const { session } = await run(server, '<script>alert(1)</script> & "quotes"');
  const made = (await server.call('POST', `/v1/sessions/${session}/share`)).body;
  const page = await fetch(new URL(String(made['url']), server.url), { headers: { Accept: 'text/html' } });
  const html = await page.text();
  expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;');
  expect(html).not.toContain('<script>');
});

test('UT-04: an earlier response is continued by a fork alone: a new session with files and words as they were then', async () => {
  const server = await open();
  const first = await run(server, create('a.txt', 'one'));
  const second = await run(server, create('a.txt', 'two'), { previous_response_id: first.id });
  const refused = await run(server, ok, { previous_response_id: first.id });
  expect(refused.body).toMatchObject({ error: { code: 'reins_not_session_tip', detail: { tip: second.id } } });
  const fork = await run(server, create('b.txt', 'fork'), {
    previous_response_id: first.id,
    metadata: { reins_fork: true },
  });
  expect(fork.body).toMatchObject({
    status: 'completed',
    previous_response_id: first.id,
    metadata: { reins_fork: true, reins_forked_from: first.id },
  });
  expect(fork.session).not.toBe(first.session);
  expect((await server.call('GET', `/v1/sessions/${fork.session}`)).body).toMatchObject({
    reins_forked_from: first.id,
  });
  // What was inherited is no artifact of the fork.
  expect(await fileTexts(server, fork.session)).toEqual({ 'b.txt': 'fork' });
  const shown = await run(server, 'Run this shell command and reply with its output only, nothing else: cat a.txt', {
    previous_response_id: fork.id,
  });
  expect(JSON.stringify(shown.body['output'])).toContain('one');
  const turns = (await server.call('GET', `/v1/sessions/${fork.session}/turns`)).body['turns'];
  expect(turns).toHaveLength(2);
  expect(await fileTexts(server, first.session)).toEqual({ 'a.txt': 'two' });
});

test('UD-28: a fork stands by itself when what it was taken from is deleted, and can be forked again', async () => {
  const server = await open();
  const first = await run(server, create('a.txt', 'one'));
  const fork = await run(server, ok, { previous_response_id: first.id, metadata: { reins_fork: 'true' } });
  await server.call('DELETE', `/v1/sessions/${first.session}`);
  const again = await run(server, ok, { previous_response_id: fork.id, metadata: { reins_fork: true } });
  expect(again.body).toMatchObject({ status: 'completed', metadata: { reins_forked_from: fork.id } });
  expect(await run(server, ok, { previous_response_id: first.id, metadata: { reins_fork: true } })).toMatchObject({
    status: 404,
  });
});

test('UD-28: a fork of a running response is refused, as is one whose files are kept no more', async () => {
  const server = await open({ demo: { speed: 'human' } });
  const long = await run(server, 'Count slowly from 1 to 200, one number per line.', { background: true });
  const fork = { previous_response_id: long.id, metadata: { reins_fork: true } };
  expect((await run(server, ok, fork)).body).toMatchObject({ error: { code: 'session_busy' } });
  await server.call('POST', `/v1/responses/${long.id}/cancel`);
  expect((await run(server, ok, fork)).body).toMatchObject({ status: 'completed' });
});
