// The client against this server, in front of real tasks on a real database.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, reply, say, text, type Replies } from './support/model.ts';
import { connect, NotFoundError, type Client, type FeedEvent, type Task, type TaskEvent } from '../src/client/index.ts';
import { eventually, startAsking, type AskingServer } from './support/asking-server.ts';
import { key } from './support/uhp.ts';

const replies: Replies = {
  write: [reply(text('Writing. '), call('w', 'write_file', { path: 'made.txt', content: 'hello é' })), say('Done.')],
  ask: [
    reply(call('q', 'ask_user_questions', { questions: [{ id: 'q1', question: 'Tea?', options: ['yes', 'no'] }] })),
    say('Thanks.'),
  ],
};

let place: AskingServer;
let client: Client;
beforeAll(async () => {
  place = await startAsking({ replies });
  client = connect(place.uhp.url, key);
});
afterAll(() => place[Symbol.asyncDispose]());

async function read(task: AsyncIterable<TaskEvent>): Promise<readonly TaskEvent[]> {
  const seen: TaskEvent[] = [];
  for await (const event of task) seen.push(event);
  return seen;
}

/** A task that has said its first word, and stands. */
async function begin(owner: Client): Promise<Task> {
  const task = owner.run({ input: 'held' });
  for await (const _ of task) if (task.snapshot().text === 'first ') return task;
  throw new Error('The task ended.');
}

test('U-313: a loop, a snapshot, a result and the stored response say the same', async () => {
  const task = client.run({ input: 'hello', metadata: { mine: 1 } });
  const seen = await read(task);
  expect(seen.map((event) => event.sequence_number)).toEqual(seen.map((_, index) => index));
  expect(seen.at(-1)?.type).toBe('response.completed');
  const result = await task.result();
  expect(result).toMatchObject({ status: 'completed', text: 'You said: hello', error: null, files: [] });
  expect(result.usage).toMatchObject({ input_tokens: 7, output_tokens: 10 });
  expect(result.response).toEqual(await client.responses.get(await task.responseId));
  expect(task.snapshot()).toMatchObject({ status: 'completed', output: result.response.output, text: result.text });
  expect(task.unknownEvents).toBe(0);
  expect(await client.responses.inputItems(result.response.id)).toMatchObject([{ role: 'user' }]);
  expect((await client.responses.wait(result.response.id)).response).toEqual(result.response);
});

test('what a server is, and what runs on it', async () => {
  const facts = await client.probe();
  expect(facts.capabilities).toMatchObject({ streaming: true, idempotency: true, memories: false });
  const [first, ...others] = await client.harnesses.list();
  expect(first).toEqual(await client.harnesses.get(first?.id ?? ''));
  expect((await client.harnesses.models(first?.id ?? '')).harness_id).toBe(first?.id);
  expect(Object.keys((await client.models()).backends)).toContain('native');
  const made = await client.harnesses.create({ base: 'native', name: 'mine' });
  const renamed = await client.harnesses.update(made.id, { ...made, name: 'renamed' });
  expect(renamed).toEqual({ ...made, name: 'renamed' });
  expect(await client.harnesses.list()).toHaveLength(others.length + 2);
  expect(await client.harnesses.delete(made.id)).toEqual({ id: made.id, deleted: true });
  await expect(client.harnesses.get(made.id)).rejects.toBeInstanceOf(NotFoundError);
});

describe('one key, one task', () => {
  test('the same key again gives the same task, whole', async () => {
    const options = { idempotencyKey: 'twice' };
    const [a, b] = await Promise.all(
      [client.run({ input: 'hello' }, options), client.run({ input: 'hello' }, options)].map(read),
    );
    expect(a).toEqual(b);
  });

  test('UD-11: with another body it is an error, before anything is read', async () => {
    await client.collect({ input: 'hello' }, { idempotencyKey: 'other' });
    const other = client.collect({ input: 'good bye' }, { idempotencyKey: 'other' });
    await expect(other).rejects.toMatchObject({ name: 'IdempotencyMismatchError', param: 'Idempotency-Key' });
  });
});

test('refusals come as what they are', async () => {
  await expect(client.collect({ input: 'x', model: 'nobody/nothing' })).rejects.toMatchObject({
    name: 'InvalidRequestError',
    code: 'model_unavailable',
    param: 'model',
    requestId: expect.any(String),
  });
  await expect(client.collect({ input: 'x', previous_response_id: 'resp_none' })).rejects.toBeInstanceOf(NotFoundError);
  await expect(connect(place.uhp.url, 'wrong').models()).rejects.toMatchObject({ name: 'AuthenticationError' });
  await expect(connect(place.uhp.url, key, { version: '2020-01-01' }).models()).rejects.toMatchObject({
    code: 'unsupported_protocol_version',
  });
});

describe('a task at work', () => {
  test('U-446, B103: giving up stops nothing; a cancel by its name does', async () => {
    await using held = await startAsking({ replies });
    const owner = connect(held.uhp.url, key);
    const abort = new AbortController();
    const task = owner.run({ input: 'held' }, { signal: abort.signal });
    const id = await task.responseId;
    abort.abort();
    expect((await owner.responses.get(id)).status).toBe('in_progress');
    const watching = owner.attach(id);
    const canceller = owner.attach(id);
    await canceller.cancel();
    expect((await watching.result()).status).toBe('cancelled');
    expect((await canceller.result()).error).toBeNull();
    expect((await owner.responses.cancel(id)).status).toBe('cancelled');
    expect(await owner.responses.delete(id)).toEqual({ id, deleted: true });
    await expect(owner.attach(id).result()).rejects.toBeInstanceOf(NotFoundError);
  });

  test('session_busy is told and not waited for; what is queued runs after it', async () => {
    await using held = await startAsking({ replies });
    const owner = connect(held.uhp.url, key);
    const task = await begin(owner);
    const id = await task.responseId;
    await expect(owner.collect({ input: 'x', previous_response_id: id })).rejects.toMatchObject({
      name: 'SessionBusyError',
    });
    const session = (await owner.sessions.list()).sessions[0]?.id ?? '';
    await owner.steer(id, 'and be quick', { messageId: 'm-steer' });
    const queued = await owner.queue.add(session, { input: 'hello' }, { messageId: 'm-1' });
    expect(queued).toMatchObject({ id: 'm-1', status: 'queued', position: 1 });
    const dropped = await owner.queue.add(session, { input: 'never' });
    await owner.queue.remove(session, dropped.id);
    expect((await owner.queue.list(session)).queue).toHaveLength(1);
    held.gate.open();
    expect((await task.result()).text).toContain('first second');
    const next = await eventually(async () => {
      const { queue } = await owner.queue.list(session);
      const turns = await owner.sessions.turns(session);
      return queue.length === 0 ? turns.at(-1) : undefined;
    });
    expect(next).toMatchObject({ user: 'hello', assistant: 'You said: hello' });
    expect(await owner.queue.resume(session)).toEqual({ queue: [], held: false });
  });

  test('UT-42: a task is attached to by its name in both forms of its stream, numbered apart', async () => {
    const id = await client.run({ input: 'hello' }).responseId;
    await client.responses.wait(id);
    const [plain, more] = [await read(client.attach(id)), await read(client.attach(id, { reinsEvents: true }))];
    expect(more.length).toBeGreaterThanOrEqual(plain.length);
    for (const seen of [plain, more]) expect(seen.map((event) => event.sequence_number)).toEqual(seen.map((_, n) => n));
    expect(await read(client.attach(id, { after: plain.length - 1 }))).toEqual([]);
  });

  test('UD-79: a feed shows tasks of its harness from now on', async () => {
    await using held = await startAsking({ replies });
    const owner = connect(held.uhp.url, key);
    const [harness] = await owner.harnesses.list();
    const abort = new AbortController();
    const seen: FeedEvent[] = [];
    const feed = (async () => {
      for await (const event of owner.harnesses.feed(harness?.id ?? '', { signal: abort.signal })) seen.push(event);
    })();
    // Until the feed is open, what happens is not in it.
    await eventually(async () => {
      await owner.collect({ input: 'hello', metadata: { harness_id: harness?.id ?? '' } });
      return seen.find(({ type }) => type === 'response.completed');
    });
    abort.abort();
    await feed;
    expect(seen[0]?.response_id).toMatch(/^resp_/);
    expect(seen[0]?.session_id).toMatch(/^hsess/);
  });
});

describe('a task that waits for a person', () => {
  const harnessThatAsks = async () => (await client.harnesses.list()).find((one) => one.reinsQuestions)?.id ?? '';

  test('an approval is found, decided, and the file it made is there', async () => {
    const task = client.run({ input: 'write', metadata: { harness_id: await harnessThatAsks(), reins_events: true } });
    let approved = 0;
    for await (const event of task)
      if (event.type === 'reins.approval_required') {
        const [open] = (await client.approvals.list({ response: await task.responseId })).approvals;
        expect(open).toEqual(await client.approvals.get(event.approval.id));
        const { id, arguments_digest } = event.approval;
        const remember = { scope: 'session', match: 'tool' } as const;
        const decided = await client.approvals.decide(id, { decision: 'approve', arguments_digest, remember });
        expect(decided.status).toBe('approved');
        approved++;
      }
    expect(approved).toBe(1);
    const { sessionId, text: said, files } = await task.result();
    expect(said).toBe('Writing. Done.');
    const [rule] = (await client.rules.list()).rules;
    expect(rule).toMatchObject({ scope: 'session', name: 'write_file' });
    await client.rules.delete(rule?.id ?? '');
    expect((await client.rules.list()).rules).toEqual([]);
    expect(files).toMatchObject([{ filename: 'made.txt' }]);
    const [file] = files;
    const content = await client.files.content(file?.container_id ?? '', file?.file_id ?? '');
    expect(await content.text()).toBe('hello é');
    const part = await client.files.content(file?.container_id ?? '', file?.file_id ?? '', {
      range: { start: 0, end: 3 },
    });
    expect(await part.text()).toBe('hell');
    await lookThrough(sessionId);
  });

  async function lookThrough(session: string): Promise<void> {
    expect(await client.sessions.files(session)).toMatchObject([{ filename: 'made.txt' }]);
    const zip = new Uint8Array(await (await client.sessions.archive(session)).arrayBuffer());
    expect(new TextDecoder().decode(zip.slice(0, 2))).toBe('PK');
    const share = await client.sessions.share(session);
    expect(await client.sessions.getShare(session)).toEqual(share);
    expect((await fetch(new URL(share.url, place.uhp.url))).status).toBe(200);
    await client.sessions.unshare(session);
    expect((await fetch(new URL(share.url, place.uhp.url))).ok).toBe(false);
    expect((await client.sessions.get(session)).id).toBe(session);
    expect(await client.sessions.cancel(session)).toMatchObject({ id: session });
    expect(await client.sessions.delete(session)).toEqual({ id: session, deleted: true });
    await expect(client.sessions.get(session)).rejects.toMatchObject({ code: 'session_not_found' });
  }

  test('a question is answered', async () => {
    const task = client.run({ input: 'ask', metadata: { harness_id: await harnessThatAsks() } });
    const id = await task.responseId;
    const open = await eventually(async () => (await client.approvals.list({ response: id })).approvals[0]);
    expect(open).toMatchObject({ kind: 'question', status: 'pending' });
    await client.approvals.answer(open.id, { answers: [{ id: open.questions?.[0]?.id ?? '', selected: ['yes'] }] });
    expect((await task.result()).text).toBe('Thanks.');
    const retry = client.approvals.resolve(open.id, { action: 'retry' });
    await expect(retry).rejects.toMatchObject({ name: 'InvalidRequestError' });
  });
});

test('sessions are listed page by page, each once', async () => {
  for (let n = 0; n < 5; n++) await client.collect({ input: `page ${n}` });
  const page = await client.sessions.list({ limit: 2 });
  expect(page.sessions).toHaveLength(2);
  expect(page.next_cursor).not.toBeNull();
  const ids: string[] = [];
  for await (const { id } of client.sessions.all({ limit: 2 })) ids.push(id);
  expect(ids.length).toBeGreaterThanOrEqual(5);
  expect(new Set(ids).size).toBe(ids.length);
});

test('U-400: a file is uploaded and is part of the next task', async () => {
  const file = await client.files.upload(new Blob(['the word is plum']), { filename: 'word.txt' });
  expect(file).toMatchObject({ object: 'file', filename: 'word.txt', bytes: 16 });
  const content = [
    { type: 'input_text', text: 'read it' },
    { type: 'input_file', file_id: file.id },
  ] as const;
  expect((await client.collect({ input: [{ role: 'user', content }] })).status).toBe('completed');
});
