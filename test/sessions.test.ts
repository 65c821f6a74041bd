// Sessions over real HTTP: lists, turns, cancel, deletion (U-075 to U-086, U-350 to U-370, UD-50, UD-51). Forks, shares and expiry
// have files of their own.

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
  expect(turns[0]?.['tools']).not.toEqual([]);
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

test('U-360, U-361, UD-50: cancelling a session stops what runs in it; with nothing running it changes nothing', async () => {
  const server = await open({ demo: { speed: 'human' } });
  const long = await run(server, 'Count slowly from 1 to 200, one number per line.', { background: true });
  const cancel = () => server.call('POST', `/v1/sessions/${long.session}/cancel`);
  await server.until(async () => (await cancel()).body['status'] === 'cancelled');
  expect(await cancel()).toMatchObject({ status: 200, body: { id: long.session, status: 'cancelled' } });
  expect((await server.call('GET', `/v1/sessions/${long.session}`)).body).toMatchObject({ status: 'cancelled' });
  const next = await run(server, ok, { previous_response_id: long.id });
  expect(next.body).toMatchObject({ status: 'completed' });
  // The session is at the response before one that was deleted.
  await server.call('DELETE', `/v1/responses/${next.id}`);
  expect((await cancel()).body).toEqual({ id: long.session, status: 'cancelled' });
  expect((await server.call('POST', '/v1/sessions/hsess_nosuch/cancel')).body).toMatchObject({
    error: { code: 'session_not_found' },
  });
});

test('B125: a session that a caller names in the metadata is neither joined nor made', async () => {
  const server = await open();
  const first = await run(server, ok);
  for (const session_id of [first.session, 'hsess_mine', '../../x']) {
    const other = await run(server, ok, { metadata: { session_id } });
    expect(other.session).toMatch(/^hsess_?\w{16,}$/);
    expect(other.session).not.toBe(session_id);
    expect(other.body['metadata']).toMatchObject({ ignored_fields: ['metadata.session_id'] });
  }
  expect((await server.call('GET', `/v1/sessions/${first.session}/turns`)).body['turns']).toHaveLength(1);
});
