// UT-40: a task that waits for a decision, over HTTP.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addHarness, startServer } from './support/server.ts';
import { answerOf, assembleOutput } from './support/event-stream.ts';
import {
  askedBy,
  eventually,
  listAsked,
  readFor,
  say as tell,
  startAsked,
  startAsking,
  type AskingServer,
} from './support/asking-server.ts';
import { call, reply, say, text, type Replies } from './support/model.ts';
import { connectTo, ended, finalOf, key, until, whole, type Answer } from './support/uhp.ts';
import { createKey } from '../src/auth/keys.ts';
import { openStoreOf } from './support/rows.ts';
import { temporaryFolder } from './support/folders.ts';

const write = (id: string, path: string) => call(id, 'write_file', { path, content: 'made' });
const replies: Replies = {
  write: [reply(text('Writing.'), write('w', 'made.txt')), say('Done.')],
  'two of them': [reply(write('w', 'other.txt')), say('Done.')],
  two: [reply(write('a', 'a.txt'), write('b', 'b.txt')), say('Done.')],
  'one after the other': [reply(write('w', 'a.txt')), reply(write('w', 'b.txt')), say('Done.')],
};

let place: AskingServer;
beforeAll(async () => {
  place = await startAsking({ replies });
});
afterAll(() => place[Symbol.asyncDispose]());

const fileOf = (session: string, name: string) => join(place.data, 'workspaces', session, name);
/** What the model read of its calls in its last request for this text. */
const readByModel = (input: string) =>
  readFor(place, input).flatMap(({ role, content, tool_call_id }) =>
    role === 'tool' ? [[tool_call_id, content]] : [],
  );

describe('UT-40, UR-03: while it waits', () => {
  test('the response is in progress, counts what is open, and its session is busy', async () => {
    const { task, asked } = await startAsked(place.uhp, { input: 'write' });
    expect(asked).toMatchObject({
      object: 'reins.approval',
      kind: 'approval',
      status: 'pending',
      response_id: task.id,
      session_id: task.metadata.session_id,
      call_id: 'w',
      name: 'write_file',
      arguments: '{"path":"made.txt","content":"made"}',
      questions: null,
      agent_path: [],
      decision: null,
    });
    const waiting = (await place.uhp.get(task.id)).body;
    expect(waiting).toMatchObject({ status: 'in_progress', metadata: { reins_pending: 1 } });
    expect(waiting.output.map(({ type, status }) => `${type} ${status}`)).toEqual([
      'message completed',
      'function_call in_progress',
    ]);
    expect(await place.uhp.create({ input: 'x', previous_response_id: task.id })).toMatchObject({
      code: 'session_busy',
    });
    expect((await place.uhp.send('GET', `/v1/reins/approvals/${asked.id}`)).body).toEqual(asked);
    await place.uhp.cancel(task.id);
  });

  test('its stream stays open and goes on with the decision; without the wish for them no event of ours is in it', async () => {
    const { task, asked } = await startAsked(place.uhp, { input: 'write', metadata: { reins_events: true } });
    const [own, plain] = [
      whole(place.uhp.attach(task.id)),
      place.uhp.send('GET', `/v1/responses/${task.id}?stream=true&reins_events=false`),
    ];
    void plain.catch(() => {});
    expect((await tell(place.uhp, asked, 'decide', { decision: 'approve' })).body).toMatchObject({
      status: 'approved',
      decision: { decision: 'approve', by: 'owner', note: null, rule_id: null },
    });
    const frames = await own;
    const ours = frames.filter(({ event }) => event.type.includes('approval_'));
    expect(ours.map(({ event }) => event.type)).toEqual(['reins.approval_required', 'reins.approval_decided']);
    expect(ours[0]?.event['approval']).toEqual(asked);
    expect(ours[1]?.event['approval']).toEqual((await place.uhp.send('GET', `/v1/reins/approvals/${asked.id}`)).body);
    expect(frames.map(({ id }) => id)).toEqual([...frames.keys()]);
    expect(assembleOutput(frames)).toEqual(finalOf(frames).output);
  });

  test('a call that is not streamed goes on waiting', async () => {
    const { body } = await place.uhp.create({ input: 'plain' });
    const waiting = place.uhp.create({ input: 'write', previous_response_id: body.id });
    const session = `session=${body.metadata.session_id}`;
    const open = await eventually(async () => (await listAsked(place.uhp, session))[0]);
    await tell(place.uhp, open, 'decide', { decision: 'approve' });
    expect((await waiting).body).toMatchObject({ status: 'completed' });
  });

  test('UD-79: the feed of its harness shows the task on both sides of the wait', async () => {
    const [gone, { body: listed }] = [new AbortController(), await place.uhp.send('GET', '/v1/harnesses')];
    const [harness] = listed['harnesses'] as { id: string }[];
    const headers = { authorization: `Bearer ${key}` };
    const feed = await fetch(`${place.uhp.url}/v1/harnesses/${harness?.id}/events`, { headers, signal: gone.signal });
    const { task, asked } = await startAsked(place.uhp, { input: 'write' });
    await tell(place.uhp, asked, 'decide', { decision: 'approve' });
    let seen = '';
    for await (const chunk of feed.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      seen += chunk;
      if (seen.includes('"response.completed"')) break;
    }
    expect(seen).toContain(task.id);
    gone.abort();
  });

  test('B085: a reader who leaves and comes back decides nothing, and an answer serves no other call', async () => {
    const body = { input: 'write', metadata: { reins_events: true } };
    const seen = await until(await place.uhp.stream(body), ({ event }) => event.type === 'reins.approval_required');
    const id = seen[0]?.event.response?.id ?? '';
    // Longer than a scan takes.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    const [asked] = await askedBy(place.uhp, id);
    expect(asked).toMatchObject({ status: 'pending', decision: null });
    if (asked === undefined) throw new Error('Nothing is asked.');
    const { task: other, asked: others } = await startAsked(place.uhp, { input: 'two of them' });
    const back = whole(place.uhp.attach(id, { after: seen.length - 1 }));
    const crossed = { decision: 'approve', arguments_digest: asked.arguments_digest };
    expect(await tell(place.uhp, others, 'decide', crossed)).toMatchObject({ code: 'reins_approval_closed' });
    await tell(place.uhp, asked, 'decide', crossed);
    expect(finalOf(await back)).toMatchObject({ status: 'completed' });
    expect(await askedBy(place.uhp, other.id)).toEqual([others]);
    await place.uhp.cancel(other.id);
  });
});

describe('UT-40, E-602 to E-604: what is decided', () => {
  test('approved: the call runs, its model is not asked again, and the record has all of it (B082, E-608)', async () => {
    const { task, asked } = await startAsked(place.uhp, { input: 'write' });
    const requests = place.model.asked('write').length;
    await tell(place.uhp, asked, 'decide', { decision: 'approve', arguments_digest: asked.arguments_digest });
    const final = await ended(place.uhp, task.id);
    expect(final).toMatchObject({ status: 'completed' });
    expect(final.metadata).not.toHaveProperty('reins_pending');
    expect(answerOf(final)).toMatch(/Done\.$/);
    expect(readFileSync(fileOf(final.metadata.session_id, 'made.txt'), 'utf8')).toBe('made');
    expect(place.model.asked('write').length).toBe(requests + 1);
    const [record] = await listAsked(place.uhp, `response=${task.id}&status=all`);
    expect(record).toMatchObject({ status: 'approved', decision: { by: 'owner', at: expect.any(Number) as number } });
    expect(final.output.filter((item) => item.call_id === record?.call_id).map(({ type }) => type)).toEqual([
      'function_call',
      'function_call_output',
    ]);
  });

  test('denied with a note: nothing runs, the model reads why, the task goes on', async () => {
    const { task, asked } = await startAsked(place.uhp, { input: 'write' });
    await tell(place.uhp, asked, 'decide', { decision: 'deny', note: 'Use another name.' });
    const final = await ended(place.uhp, task.id);
    expect(final).toMatchObject({ status: 'completed' });
    expect(existsSync(fileOf(final.metadata.session_id, 'made.txt'))).toBe(false);
    expect(readByModel('write')).toEqual([['w', expect.stringContaining('Use another name.')]]);
  });

  test('UR-31: the same again is the stored record, another one is a conflict, other arguments are closed', async () => {
    const { task, asked } = await startAsked(place.uhp, { input: 'write' });
    const other = { decision: 'approve', arguments_digest: 'of other arguments' };
    expect(await tell(place.uhp, asked, 'decide', other)).toMatchObject({
      status: 409,
      code: 'reins_approval_closed',
      body: { error: { detail: { approval: asked } } },
    });
    expect(await listAsked(place.uhp, `response=${task.id}`)).toEqual([asked]);
    const first = await tell(place.uhp, asked, 'decide', { decision: 'deny', note: 'n' });
    expect((await tell(place.uhp, asked, 'decide', { decision: 'deny' })).body).toEqual(first.body);
    expect(await tell(place.uhp, asked, 'decide', { decision: 'approve' })).toMatchObject({
      status: 409,
      code: 'reins_approval_conflict',
      body: { error: { detail: { approval: first.body } } },
    });
    await ended(place.uhp, task.id);
    expect((await tell(place.uhp, asked, 'decide', { decision: 'deny' })).body).toEqual(first.body);
  });

  test('two at once: one wins, and what runs is what it said', async () => {
    for (let round = 0; round < 6; round++) {
      const { task, asked } = await startAsked(place.uhp, { input: 'write' });
      const said = ['approve', 'deny', 'approve', 'deny'];
      const order = round % 2 === 0 ? said : said.toReversed();
      const answers = await Promise.all(order.map((decision) => tell(place.uhp, asked, 'decide', { decision })));
      const won = answers.filter(({ status }) => status === 200);
      expect(won).toHaveLength(2);
      expect(answers.filter(({ code }) => code === 'reins_approval_conflict')).toHaveLength(2);
      const { status } = won[0]?.body ?? {};
      const final = await ended(place.uhp, task.id);
      expect(existsSync(fileOf(final.metadata.session_id, 'made.txt'))).toBe(status === 'approved');
    }
  });

  test('B081: of two calls one is approved, the other denied: both wait for both, each has one output', async () => {
    const { body: task } = await place.uhp.create({ input: 'two', background: true });
    const open = await askedBy(place.uhp, task.id, 2);
    const [a, b] = ['a', 'b'].map((id) => open.find(({ call_id }) => call_id === id));
    if (a === undefined || b === undefined) throw new Error('Not both are asked.');
    await tell(place.uhp, a, 'decide', { decision: 'approve' });
    expect((await place.uhp.get(task.id)).body.metadata['reins_pending']).toBe(1);
    expect(existsSync(fileOf(task.metadata.session_id, 'a.txt'))).toBe(false);
    await tell(place.uhp, b, 'decide', { decision: 'deny' });
    const final = await ended(place.uhp, task.id);
    expect(readByModel('two').map(([id]) => id)).toEqual(['a', 'b']);
    expect(final.output.filter(({ type }) => type === 'function_call_output')).toHaveLength(2);
    expect(['a.txt', 'b.txt'].map((name) => existsSync(fileOf(task.metadata.session_id, name)))).toEqual([true, false]);
  });

  test('UD-81, B088: a call id that comes again is asked for under its own id, each once', async () => {
    const { task, asked } = await startAsked(place.uhp, { input: 'one after the other' });
    await tell(place.uhp, asked, 'decide', { decision: 'approve' });
    const second = await eventually(async () => (await askedBy(place.uhp, task.id)).find(({ id }) => id !== asked.id));
    expect(second.call_id).toBe('w_2');
    await tell(place.uhp, second, 'decide', { decision: 'approve' });
    const final = await ended(place.uhp, task.id);
    expect(final.output.flatMap(({ type, call_id }) => (type === 'function_call' ? [call_id] : []))).toEqual([
      'w',
      'w_2',
    ]);
    expect(await listAsked(place.uhp, `response=${task.id}&status=all`)).toHaveLength(2);
  });
});

describe('UR-10, UR-34: who sees and who decides', () => {
  test('another client of the principal decides; another principal finds nothing, and a reader may only read', async () => {
    await using two = await startAsking({ replies });
    const { task, asked } = await startAsked(two.uhp, { input: 'write' });
    // Keys are put into the store while the server works, as `reins keys create` does.
    const [second, stranger] = [
      await addHarness(two.data, 'owner', { deleted: true }),
      await addHarness(two.data, 'other'),
    ];
    const foreign = connectTo(two.uhp.url, stranger.token);
    expect(await listAsked(foreign, `response=${task.id}&status=all`)).toEqual([]);
    expect(await tell(foreign, asked, 'decide', { decision: 'approve' })).toMatchObject({
      code: 'reins_approval_not_found',
    });
    expect(await tell(two.uhp, { id: 'apr_none' }, 'decide', { decision: 'deny' })).toMatchObject({ status: 404 });
    const reader = createKey({ principal: 'owner', scopes: ['read'], atMs: 1 });
    {
      await using store = await openStoreOf(two.data);
      await store.putKey(reader.record);
    }
    const reading = connectTo(two.uhp.url, reader.key);
    expect(await listAsked(reading, `response=${task.id}`)).toEqual([asked]);
    expect(await tell(reading, asked, 'decide', { decision: 'deny' })).toMatchObject({ code: 'insufficient_scope' });
    const own = connectTo(two.uhp.url, second.token);
    expect(await tell(own, asked, 'decide', { decision: 'approve' })).toMatchObject({ status: 200 });
    expect(await ended(two.uhp, task.id)).toMatchObject({ status: 'completed' });
  });

  test('UD-51: newest first in pages, by kind, status and session; what is foreign gives nothing', async () => {
    const all = await listAsked(place.uhp, 'status=all&limit=100');
    expect(all.length).toBeGreaterThan(5);
    expect(all.toSorted((a, b) => Number(b['requested_at']) - Number(a['requested_at']))).toEqual(all);
    const paged = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body }: Answer = await place.uhp.send('GET', `/v1/reins/approvals?status=all&limit=3&cursor=${cursor}`);
      paged.push(...(body['approvals'] as unknown[]));
      cursor = body['next_cursor'] as string | null;
    }
    expect(paged).toEqual(all);
    expect(await listAsked(place.uhp, 'status=approved')).toEqual(
      all.filter(({ status }) => status === 'approved').slice(0, 20),
    );
    for (const none of ['kind=question&status=all', 'session=hsessnone', 'response=resp_none', 'session=x'])
      expect(await listAsked(place.uhp, none)).toEqual([]);
    for (const [query, param] of [
      ['limit=0', 'limit'],
      ['limit=x', 'limit'],
      ['cursor=x', 'cursor'],
      ['cursor=apr_none', 'cursor'],
      ['status=done', 'status'],
      ['kind=x', 'kind'],
    ])
      expect(await place.uhp.send('GET', `/v1/reins/approvals?${query}`)).toMatchObject({
        code: 'invalid_input',
        param,
      });
  });
});

test('UR-02, UR-01: a task on a harness that was left alone never waits, and the server says what it can', async () => {
  await using server = await startServer({ data: temporaryFolder(), ...place.model });
  const final = (await server.uhp.create({ input: 'write' })).body;
  expect(final).toMatchObject({ status: 'completed' });
  expect(await listAsked(server.uhp, 'status=all')).toEqual([]);
  const capabilities = { reins_approvals: true, reins_steering: true, reins_queue: true };
  expect((await server.uhp.send('GET', '/v1/uhp')).body).toMatchObject({ capabilities });
  const { harnesses } = (await server.uhp.send('GET', '/v1/harnesses')).body as unknown as { harnesses: unknown[] };
  expect(harnesses).toMatchObject([
    { reinsPermissionMode: 'allow-all', reinsOnUnknown: 'tell-model', reinsQuestions: false },
  ]);
});
