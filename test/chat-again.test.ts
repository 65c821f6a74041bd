// Chats that are said anew, emptied, long or full of files, and what is written down of them (P-083, P-094, UR-54).

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { join } from 'node:path';
import { mkdirSync } from 'node:fs';
import { call, reply, say, text } from './support/model.ts';
import { chatCall, stored, textOf, user, type Message } from './support/chat.ts';
import { eventually, readFor, startAsking, type AskingServer } from './support/asking-server.ts';
import { piece, turnHarness, turnSettings } from './support/turn-harness.ts';
import { sessionOf } from '../src/tasks/find-chat.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

// A hang is a failure.
vi.setConfig({ testTimeout: 10_000 });

const replies = {
  write: [reply(text('Writing. '), call('w', 'write_file', { path: 'made.txt', content: 'made' })), say('Done.')],
};
let place: AskingServer;
let chats = 0;
beforeAll(async () => {
  place = await startAsking({ replies });
});
afterAll(() => place[Symbol.asyncDispose]());

const newChat = () => `a-${chats++}`;
const post = (id: string, message: object, more: object = {}, url = place.uhp.url) =>
  chatCall(url, '/api/chat', { body: { id, messages: [message], ...more } });
const again = (id: string, message: object) => post(id, message, { trigger: 'regenerate-message' });
async function saidTwice(): Promise<string> {
  const id = newChat();
  for (const name of ['one', 'two']) expect(await post(id, user(name, name))).toMatchObject({ status: 200 });
  return id;
}
const texts = async (id: string) => (await stored(place.uhp.url, id)).map(textOf);

test('P-094: what a crash left of a turn that was begun anew is in nobody’s way', async () => {
  const id = await saidTwice();
  mkdirSync(join(place.data, 'workspaces', sessionOf('owner', id, 1), 'half'), { recursive: true });
  expect(await again(id, user('two', 'three'))).toMatchObject({ status: 200 });
  expect(await texts(id)).toEqual(['one', 'You said: one', 'three', 'You said: three']);
});

test('P-094: of two at once one is begun, and the other is told that the session is busy', async () => {
  const id = await saidTwice();
  const both = ['held one', 'held two'].map((said) => again(id, user('two', said)));
  expect(await Promise.race(both)).toEqual({ status: 409, body: { error: 'session is busy' } });
  place.gate.open();
  expect((await Promise.all(both)).map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
});

test('UD-08: where every response was deleted a chat goes on in its place, as one conversation', async () => {
  const id = newChat();
  await post(id, user('one', 'one'));
  const { body } = await place.uhp.send('GET', '/v1/sessions?limit=1');
  const session = (body['sessions'] as { id: string }[])[0]?.id ?? '';
  const run = String((await stored(place.uhp.url, id))[1]?.id).replace('msg_', '');
  expect(await place.uhp.send('DELETE', `/v1/responses/${run}`)).toMatchObject({ status: 200 });
  for (const name of ['two', 'three']) expect(await post(id, user(name, name))).toMatchObject({ status: 200 });
  expect(await texts(id)).toEqual(['two', 'You said: two', 'three', 'You said: three']);
  expect((await stored(place.uhp.url, id)).at(-1)?.metadata).toMatchObject({ sessionId: session });
  expect(readFor(place, 'three').map(({ content }) => content)).toContain('You said: two');
});

test('P-094: what goes on from nothing needs no harness that rewrites history, and any client may name its own', async () => {
  const adapter = turnHarness(async function* () {
    yield [piece(0, 'told')];
  });
  await using server = await startServer({ data: temporaryFolder(), settings: turnSettings, adapters: [adapter] });
  const send = (id: string, more: object = {}) => post('c', user(id, id), more, server.url);
  await send('one');
  expect((await send('one', { trigger: 'regenerate-message' })).body['text']).toContain('told');
  await send('two');
  expect(await send('two', { trigger: 'regenerate-message' })).toEqual({
    status: 422,
    body: { error: 'this harness cannot rewrite history' },
  });
});

test('P-094: the harness that a client names is of new chats alone', async () => {
  const id = await saidTwice();
  const more = { trigger: 'regenerate-message', harness: 'chrn_none' };
  expect(await post(id, user('two', 'three'), more)).toMatchObject({ status: 200 });
});

test('UR-54: a decision over a chat is written down like any other, and so is one that a new message makes', async () => {
  const audited = async () => {
    const { body } = await place.uhp.send('GET', '/v1/reins/audit?action=approval.decide');
    return (body['entries'] as { object: string; request_id: string; key_id: string }[]).map(({ object }) => object);
  };
  const asked = async (id: string) => {
    await post(id, user('w', 'write'));
    const message = (await stored(place.uhp.url, id)).at(-1);
    const part = message?.parts.find(({ approval }) => approval !== undefined);
    return { message, part, approvalId: part?.approval?.id ?? '' };
  };
  const [first, second] = [newChat(), newChat()];
  const one = await asked(first);
  const answered = { ...one.part, state: 'approval-responded', approval: { id: one.approvalId, approved: true } };
  await post(first, { ...one.message, parts: [answered] });
  expect(await audited()).toEqual([one.approvalId]);
  const two = await asked(second);
  await post(second, user('n', 'rather this'));
  expect(await audited()).toEqual([two.approvalId, one.approvalId]);
});

test('P-083: the messages are told in pages, and a page holds so much of attachments', async () => {
  const id = newChat();
  for (const name of ['one', 'two', 'three']) await post(id, user(name, name));
  const page = async (query: string) => (await chatCall(place.uhp.url, `/api/chat/${id}/messages?${query}`)).body;
  const newest = await page('limit=2');
  expect((newest['messages'] as Message[]).map(textOf)).toEqual(['two', 'You said: two', 'three', 'You said: three']);
  const before = await page(`limit=2&cursor=${String(newest['next_cursor'])}`);
  expect((before['messages'] as Message[]).map(textOf)).toEqual(['one', 'You said: one']);
  expect([before['next_cursor'], (await page(''))['next_cursor']]).toEqual([null, null]);
  expect(await chatCall(place.uhp.url, `/api/chat/${id}/messages?cursor=resp_none`)).toMatchObject({ status: 400 });
});

test('P-083: attachments of the newest messages are whole, as much as a page may hold; older ones are named', async () => {
  const id = newChat();
  const attached = (filename: string, bytes: number) => {
    const url = `data:application/zip;base64,${Buffer.alloc(bytes, 7).toString('base64')}`;
    return { type: 'file', mediaType: 'application/zip', filename, url };
  };
  const large = ['a', 'b', 'c'].map((name) => attached(`${name}.zip`, 3_000_000));
  for (const [index, file] of large.entries())
    await post(id, { id: `m${index}`, role: 'user', parts: [file, { type: 'text', text: 'keep it' }] });
  const asked = await eventually(async () => {
    const messages = (await stored(place.uhp.url, id)).filter(({ role }) => role === 'user');
    return messages.length === 3 ? messages : undefined;
  });
  expect(asked.map(({ parts }) => parts[0])).toEqual([{ type: 'text', text: '[a.zip]' }, large[1], large[2]]);
});
