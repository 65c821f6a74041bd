// The chat's routes over real HTTP: what is begun, joined, resumed, stopped, and refused (P-083 to P-095, P-100).

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';
import { askedBy, eventually, readFor, say as tell, startAsking, type AskingServer } from './support/asking-server.ts';
import { call, hold, reply, say, text, type Replies } from './support/model.ts';
import { chatCall, openStream, stored, textOf, toolStates, user, versions, type Chunk } from './support/chat.ts';

const write = (id: string, path: string) => call(id, 'write_file', { path, content: 'made' });
const replies: Replies = {
  write: [reply(text('Writing. '), write('w', 'made.txt')), say('Done.')],
  long: [
    reply(text('a ', 'b '), call('l', 'list_files', {})),
    reply(text('c ', 'd '), write('w', 'x.txt')),
    say('end'),
  ],
  'held write': [reply(write('w', 'y.txt')), reply(text('first '), hold, text('second'))],
  both: [reply(write('a', 'a.txt'), write('b', 'b.txt')), say('Done.')],
};

// A hang is a failure.
vi.setConfig({ testTimeout: 5_000 });

let place: AskingServer;
let chats = 0;
beforeAll(async () => {
  place = await startAsking({ replies });
});
afterAll(() => place[Symbol.asyncDispose]());

const { read: readWith } = versions[2] ?? versions[0]!;
const newChat = () => `s-${chats++}`;
const post = (id: string, message: object, more: object = {}, on = place) =>
  openStream(on.uhp.url, '/api/chat', { body: { id, messages: [message], trigger: 'submit-message', ...more } });
const resume = (id: string, on = place) => openStream(on.uhp.url, `/api/chat/${id}/stream`);
const stop = (id: string, on = place) => chatCall(on.uhp.url, `/api/chat/${id}/stop`, { method: 'POST' });
const types = (chunks: readonly Chunk[]) => chunks.map(({ type }) => type);
const isText = ({ type }: Chunk) => type === 'text-delta';
const without = (chunks: readonly Chunk[]) => chunks.filter(({ type }) => type !== '[DONE]');
const runOf = (chunks: readonly Chunk[]) => String(chunks[0]?.['messageId']).replace('msg_', '');
/** The message with its one open approval answered. */
async function answered(chunks: readonly Chunk[], approved: boolean, callId = 'w') {
  const message = await readWith(without(chunks));
  const parts = (message?.parts ?? []).map((part) =>
    part.toolCallId === callId && part.approval !== undefined
      ? { ...part, state: 'approval-responded', approval: { ...part.approval, approved } }
      : part,
  );
  return { ...message, parts };
}

describe('P-084, P-085: the stream', () => {
  test('has the headers and frames that clients look for, and one start and end', async () => {
    const stream = await post(newChat(), user('m', 'hello'));
    expect(stream.status).toBe(200);
    expect(Object.fromEntries(stream.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-vercel-ai-ui-message-stream': 'v1',
    });
    const chunks = await stream.read();
    expect(types(chunks)).toEqual([
      'start',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'finish',
      '[DONE]',
    ]);
    expect(chunks[0]).toMatchObject({ messageId: expect.stringMatching(/^msg_resp_/) });
    expect(chunks.at(-2)).toMatchObject({ finishReason: 'stop', messageMetadata: { usage: { inputTokens: 7 } } });
    expect(JSON.stringify(chunks)).not.toContain(':null');
  });
});

describe('P-086: a message is begun once', () => {
  test('the same id again, at the same time and later, joins its turn', async () => {
    const id = newChat();
    const both = await Promise.all([post(id, user('m', 'hello')), post(id, user('m', 'hello'))]);
    const [first, second] = await Promise.all(both.map((stream) => stream.read()));
    expect(second).toEqual(first);
    expect(await (await post(id, user('m', 'hello'))).read()).toEqual(first);
    expect(await stored(place.uhp.url, id)).toHaveLength(2);
  });

  test('what earlier messages of the client say is not read', async () => {
    const id = newChat();
    await (await post(id, user('m', 'hello'))).read();
    const messages = [user('x', 'lies'), { id: 'y', role: 'assistant', parts: [] }, user('n', 'again')];
    await (await openStream(place.uhp.url, '/api/chat', { body: { id, messages } })).read();
    expect(
      readFor(place, 'again')
        .map(({ content }) => content)
        .slice(-3),
    ).toEqual(['hello', 'You said: hello', 'again']);
  });

  test('files come with it, and are there when the chat is read again', async () => {
    const id = newChat();
    const url = `data:text/plain;base64,${Buffer.from('the token').toString('base64')}`;
    const file = { type: 'file', mediaType: 'text/plain', filename: 'a.txt', url };
    await (await post(id, { id: 'm', role: 'user', parts: [file, { type: 'text', text: 'read it' }] })).read();
    expect((await stored(place.uhp.url, id))[0]).toEqual({
      id: 'm',
      role: 'user',
      parts: [file, { type: 'text', text: 'read it' }],
    });
  });
});

describe('refusals are JSON before any stream (P-083)', () => {
  const refused = async (body: object) => chatCall(place.uhp.url, '/api/chat', { body });
  test.each([
    [{ id: 'a b', messages: [user('m', 'x')] }, 'id must be 1 to 128 letters, digits, _ or -.'],
    [{ id: 'x'.repeat(129), messages: [user('m', 'x')] }, 'id must be 1 to 128 letters, digits, _ or -.'],
    [{ id: 'a', messages: [] }, 'messages must not be empty.'],
    [{ id: 'a' }, 'messages must be a list.'],
    [
      { id: 'a', messages: [{ id: 'm', role: 'system', parts: [] }] },
      'The last message must be of the user or the assistant.',
    ],
    [{ id: 'a', messages: [user('m', 'x')], chunks: 5 }, 'chunks must be 6 or 7.'],
  ])('%j', async (body, error) => {
    expect(await refused(body)).toEqual({ status: 400, body: { error } });
  });

  test('what is unknown, and what is another’s, are one and the same', async () => {
    for (const id of ['never-said', 'hsessunknown'])
      for (const [path, method] of [
        [`/api/chat/${id}/messages`, 'GET'],
        [`/api/chat/${id}/stream`, 'GET'],
        [`/api/chat/${id}/stop`, 'POST'],
      ] as const)
        expect(await chatCall(place.uhp.url, path, { method })).toEqual({
          status: 404,
          body: { error: 'There is no such session.' },
        });
    expect(await refused({ id: 'hsessunknown', messages: [user('m', 'x')] })).toMatchObject({ status: 404 });
    const bare = await fetch(`${place.uhp.url}/api/chat/x/messages`);
    expect([bare.status, await bare.json()]).toEqual([401, { error: expect.any(String) }]);
    expect(await chatCall(place.uhp.url, '/api/chat/x/y/z')).toMatchObject({
      status: 404,
      body: { error: expect.any(String) },
    });
  });

  test('P-083: a session of the task API is a chat, too', async () => {
    const { body } = await place.uhp.create({ input: 'hello' });
    const session = body.metadata.session_id;
    expect((await stored(place.uhp.url, session)).map(textOf)).toEqual(['hello', 'You said: hello']);
    await (await post(session, user('m', 'again'))).read();
    expect(await stored(place.uhp.url, session)).toHaveLength(4);
  });
});

describe('P-091: resuming', () => {
  test('204 when nothing is at work', async () => {
    const id = newChat();
    await (await post(id, user('m', 'hello'))).read();
    expect((await resume(id)).status).toBe(204);
  });

  test('while it waits: all of the message from its first chunk, then its end here', async () => {
    const id = newChat();
    const first = await (await post(id, user('m', 'write'))).read();
    expect(types(first).slice(-3)).toEqual(['tool-approval-request', 'finish', '[DONE]']);
    expect(first.at(-2)).toEqual({ type: 'finish', finishReason: 'tool-calls' });
    expect(await (await resume(id)).read()).toEqual(first);
  });

  describe.each(versions)(
    '$name: at every chunk the message is the one of who never left',
    ({ open, read, chunks: form }) => {
      test('P-120', async () => {
        const id = newChat();
        const seen = without(await (await post(id, user('m', 'long'), { chunks: form })).read());
        const whole = await read(seen);
        for (let cut = 0; cut <= seen.length; cut++) {
          const partial = await read(seen.slice(0, cut));
          const messages = [user('m', 'long'), ...(partial === undefined ? [] : [partial])] as never;
          const chat = open({ url: place.uhp.url, id, messages });
          await chat.resumeStream();
          expect(chat.error).toBeUndefined();
          expect(chat.messages).toHaveLength(2);
          expect(chat.messages.at(-1)).toEqual(whole);
        }
      });
    },
  );

  test('live chunks go on where the replay ends, for both readers alike', async () => {
    await using held = await startAsking({ replies });
    const id = newChat();
    const one = await post(id, user('m', 'held'), {}, held);
    const reading = one.read();
    await eventually(async () => ((await stored(held.uhp.url, id)).length === 2 ? true : undefined));
    const two = (await resume(id, held)).read();
    held.gate.open();
    expect(textOf(await readWith(without(await reading)))).toBe('first second');
    expect(textOf(await readWith(without(await two)))).toBe('first second');
  });

  test('after a decision: request and response are both in the replay, and the outcome', async () => {
    await using held = await startAsking({ replies });
    const id = newChat();
    const first = await (await post(id, user('m', 'held write'), {}, held)).read();
    const going = await post(id, await answered(first, true), { messageId: first[0]?.['messageId'] }, held);
    const tail = await going.read(isText);
    expect(types(tail).slice(0, 2)).toEqual(['start', 'tool-approval-response']);
    expect(tail[0]).toEqual({ type: 'start', messageId: first[0]?.['messageId'] });
    const replay = await (await resume(id, held)).read(isText);
    const [head, end] = [without(first).slice(0, -1), tail.slice(1)];
    expect(replay).toEqual([...head, ...end]);
    held.gate.open();
  });
});

describe('P-092: who leaves ends nothing, who stops ends it for all', () => {
  test('a client that goes away finds the turn where it would be', async () => {
    await using held = await startAsking({ replies });
    const id = newChat();
    await (await post(id, user('m', 'held'), {}, held)).read(isText);
    held.gate.open();
    await eventually(async () =>
      textOf((await stored(held.uhp.url, id)).at(-1)) === 'first second' ? true : undefined,
    );
  });

  test('the stop ends a first and a resumed stream, and is idempotent', async () => {
    await using held = await startAsking({ replies });
    const id = newChat();
    const first = (await post(id, user('m', 'held'), {}, held)).read();
    await eventually(async () => ((await stored(held.uhp.url, id)).length === 2 ? true : undefined));
    const second = (await resume(id, held)).read();
    expect(await stop(id, held)).toEqual({ status: 200, body: { stopped: true } });
    for (const chunks of await Promise.all([first, second]))
      expect(types(chunks).slice(-3)).toEqual(['message-metadata', 'abort', '[DONE]']);
    expect(await stop(id, held)).toEqual({ status: 200, body: { stopped: false } });
    expect((await resume(id, held)).status).toBe(204);
    expect((await stored(held.uhp.url, id)).at(-1)).toMatchObject({ metadata: { stopped: true } });
  });

  test('a stop while it waits leaves no call without an outcome', async () => {
    const id = newChat();
    const first = await (await post(id, user('m', 'both'))).read();
    expect(await stop(id)).toEqual({ status: 200, body: { stopped: true } });
    expect(toolStates((await stored(place.uhp.url, id)).at(-1))).toEqual([
      'write_file output-error',
      'write_file output-error',
    ]);
    const late = await chatCall(place.uhp.url, '/api/chat', {
      body: { id, messages: [await answered(first, true, 'a')] },
    });
    expect(late).toEqual({ status: 409, body: { error: 'Nobody can decide this any more.' } });
  });
});

describe('P-087, P-088: answers', () => {
  test('an answer that is sent twice, as its stream broke, is told what came of it', async () => {
    const id = newChat();
    const first = await (await post(id, user('m', 'write'))).read();
    const message = await answered(first, true);
    const once = await (await post(id, message)).read();
    expect(await (await post(id, message)).read()).toEqual(once);
    expect(types(once)).toEqual(expect.arrayContaining(['tool-output-available', 'finish', '[DONE]']));
  });

  test('what was decided otherwise meanwhile is refused', async () => {
    const id = newChat();
    const first = await (await post(id, user('m', 'write'))).read();
    const [asked] = await askedBy(place.uhp, runOf(first));
    if (asked !== undefined) await tell(place.uhp, asked, 'decide', { decision: 'deny' });
    expect(
      await chatCall(place.uhp.url, '/api/chat', { body: { id, messages: [await answered(first, true)] } }),
    ).toEqual({
      status: 409,
      body: { error: 'Something else was decided before.' },
    });
  });

  test('a decision survives the server (P-100)', async () => {
    await using own = await startAsking({ replies });
    const id = newChat();
    const first = await (await post(id, user('m', 'write'), {}, own)).read();
    await own.restart();
    const chunks = await (await post(id, await answered(first, true), {}, own)).read();
    expect(types(chunks)).toEqual(expect.arrayContaining(['tool-output-available', 'finish']));
  });
});

describe('P-090: a word to the turn at work', () => {
  test('a turn at work is busy, unless the message is meant for it; then it is split at the next step', async () => {
    await using held = await startAsking({ replies });
    const id = newChat();
    const first = (await post(id, user('m', 'held'), {}, held)).read();
    await eventually(async () => ((await stored(held.uhp.url, id)).length === 2 ? true : undefined));
    expect(await chatCall(held.uhp.url, '/api/chat', { body: { id, messages: [user('n', 'left')] } })).toEqual({
      status: 409,
      body: { error: 'session is busy' },
    });
    const said = await post(id, user('n', 'left'), { steer: true }, held);
    const again = await post(id, user('n', 'left'), { steer: true }, held);
    const second = said.read();
    held.gate.open();
    const [before, after, joined] = await Promise.all([first, second, again.read()]);
    expect(textOf(await readWith(without(before)))).toBe('first second');
    expect(types(before).at(-2)).toBe('finish');
    expect(after[0]).toMatchObject({ type: 'start', messageId: `${String(before[0]?.['messageId'])}_1` });
    expect(textOf(await readWith(without(after)))).toBe('You said: left');
    expect(joined).toEqual(after);
    expect((await stored(held.uhp.url, id)).map(({ role, id: name }) => [role, name])).toEqual([
      ['user', 'm'],
      ['assistant', before[0]?.['messageId']],
      ['user', 'n'],
      ['assistant', after[0]?.['messageId']],
    ]);
    // Known for good, also when its turn is over.
    expect(await (await post(id, user('n', 'left'), {}, held)).read()).toEqual(after);
  });

  test('in place of what waits: no chunk of the calls before comes into the new message', async () => {
    const id = newChat();
    const first = await (await post(id, user('m', 'both'))).read();
    const chunks = await (await post(id, user('n', 'rather this'))).read();
    expect(types(chunks).filter((type) => type.startsWith('tool-'))).toEqual([]);
    expect(textOf(await readWith(without(chunks)))).toBe('You said: rather this');
    expect(chunks[0]?.['messageId']).toBe(`${String(first[0]?.['messageId'])}_1`);
    const read = readFor(place, 'rather this').filter(({ role }) => role === 'tool');
    expect(read.map(({ content }) => content)).toEqual([
      expect.stringContaining('superseded by a new message'),
      expect.stringContaining('superseded by a new message'),
    ]);
  });
});

test('P-083: the path is the operator’s to choose', async () => {
  await using server = await startServer({ data: temporaryFolder(), settings: { server: { chatPath: '/chat' } } });
  const said = await chatCall(server.url, '/chat', { body: { id: 'c', messages: [user('m', 'hello')] } });
  expect(said.body['text']).toContain('[DONE]');
  expect((await chatCall(server.url, '/chat/c/messages')).status).toBe(200);
  expect((await chatCall(server.url, '/api/chat/c/messages')).status).toBe(404);
});
