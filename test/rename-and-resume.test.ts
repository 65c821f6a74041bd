// What a person does with a session beside its tasks, over HTTP: a title of their own, a task that comes to rest and goes on.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, hold, reply, say, text } from './support/model.ts';
import { connect } from '../src/client/index.ts';
import { eventually, startAsking, type AskingServer } from './support/asking-server.ts';
import { key } from './support/uhp.ts';

let place: AskingServer;
beforeAll(async () => {
  place = await startAsking({
    replies: { look: [reply(text('Looking '), hold, call('l', 'list_files', {})), say('Done.')] },
  });
});
afterAll(() => place[Symbol.asyncDispose]());

const titleOf = async (session: string) => (await place.uhp.send('GET', `/v1/sessions/${session}`)).body['title'];

test('a session is called what a person says, in every list and after a restart; nothing empty, nothing over 200', async () => {
  const { body: task } = await place.uhp.create({ input: 'hello' });
  const session = task.metadata.session_id;
  const rename = (title: unknown) => place.uhp.send('PATCH', `/v1/reins/sessions/${session}`, { body: { title } });
  expect(await rename('  The \n hall\u0000 ')).toMatchObject({ status: 200, body: { id: session, title: 'The hall' } });
  for (const wrong of ['', ' \n', 'a'.repeat(201), 7, null])
    expect(await rename(wrong)).toMatchObject({ status: 400, param: 'title' });
  await place.uhp.create({ input: 'again', previous_response_id: task.id });
  await place.restart();
  expect(await titleOf(session)).toBe('The hall');
  const { body } = await place.uhp.send('GET', '/v1/sessions');
  expect(body['sessions']).toMatchObject([{ title: 'The hall' }]);
  const nobody = { body: { title: 'x' } };
  expect((await place.uhp.send('PATCH', '/v1/reins/sessions/hsess_nobody', nobody)).code).toBe('session_not_found');
});

test('E-819: a task comes to rest and says so, goes on when it is told to, and repeats nothing', async () => {
  const client = connect(place.uhp.url, key);
  const { id } = await client.responses.create({ input: 'look' }, { idempotencyKey: 'look' });
  await eventually(() => place.model.asked('look').length > 0 || undefined);
  const pausing = await client.responses.pause(id);
  expect(pausing).toMatchObject({ status: 'in_progress' });
  expect(pausing.metadata).not.toHaveProperty('reins_paused');
  await expect(client.responses.resume(id)).rejects.toMatchObject({ status: 409, code: 'reins_task_pausing' });
  place.gate.open();
  const paused = await eventually(async () => {
    const response = await client.responses.get(id);
    return response.metadata['reins_paused'] === true ? response : undefined;
  });
  const { session_id: session } = paused.metadata;
  if (typeof session !== 'string') throw new Error('It has no session.');
  expect(await client.sessions.get(session)).toMatchObject({ status: 'in_progress', reins_paused: true });
  const { metadata } = await client.responses.resume(id);
  expect(metadata).not.toHaveProperty('reins_paused');
  expect(await client.responses.wait(id)).toMatchObject({
    status: 'completed',
    text: expect.stringContaining('Done.'),
  });
  expect(place.model.asked('look')).toHaveLength(2);
  for (const verb of ['pause', 'resume'] as const)
    expect(await client.responses[verb](id)).toMatchObject({ status: 'completed' });
  expect(await client.sessions.get(session)).not.toHaveProperty('reins_paused');
});

test('a session says that it is published where it is read, so that nobody asks in vain', async () => {
  const client = connect(place.uhp.url, key);
  const { body: task } = await place.uhp.create({ input: 'hello' });
  const { session_id: session } = task.metadata;
  expect(await client.sessions.get(session)).not.toHaveProperty('reins_shared');
  await client.sessions.share(session);
  expect(await client.sessions.get(session)).toMatchObject({ reins_shared: true });
  await client.sessions.unshare(session);
  expect(await client.sessions.get(session)).not.toHaveProperty('reins_shared');
});

test('the page of a link has the title of its session above what was said, also one of its own', async () => {
  const client = connect(place.uhp.url, key);
  const { body: task } = await place.uhp.create({ input: 'hello there' });
  const { session_id: session } = task.metadata;
  const { url } = await client.sessions.share(session);
  const page = async () => (await fetch(new URL(url, place.uhp.url), { headers: { accept: 'text/html' } })).text();
  const bodyOf = (html: string) => html.slice(html.indexOf('<body>'));
  expect(bodyOf(await page()).match(/hello there/g)).toHaveLength(3);
  expect(bodyOf(await page())).toContain('<h1>hello there</h1>');
  await client.sessions.rename(session, 'Mine');
  expect(bodyOf(await page())).toContain('<h1>Mine</h1>');
});
