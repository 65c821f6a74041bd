// What principals may use, and the bounded queue over all sessions (UR-43, UR-53, U-424, UD-59).

import { afterEach, describe, expect, test } from 'vitest';
import { call, createGate, hold, reply, say, startModel, text, type Gate } from './support/model.ts';
import { connectTo, ended, until, whole, type Answer, type Uhp } from './support/uhp.ts';
import { eventually, listAsked } from './support/asking-server.ts';
import { needsOneServer } from './support/cluster-in-process.ts';
import { startServer, type TestServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

interface Place {
  readonly data: string;
  readonly gate: Gate;
  readonly asked: (text: string) => number;
  server: TestServer;
  uhp: Uhp;
  restart(): Promise<void>;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Each reply is said to cost 17 tokens, of which 10 are output. Tasks `held…` stand in their first word, `long` takes two replies. */
async function open(limits: object, settings: object = {}): Promise<Place> {
  const [data, gate] = [temporaryFolder(), createGate()];
  const long = [reply(call('w', 'write_file', { path: 'a.txt', content: 'x' })), say('Done.')];
  const held = [reply(text('first '), hold, text('second'))];
  const model = await startModel((said) => (said.startsWith('held') ? held : said === 'long' ? long : undefined), gate);
  cleanups.push(async () => model[Symbol.asyncDispose]());
  const start = () => startServer({ data, env: model.env, settings: { ...model.settings, ...settings, limits } });
  const server = await start();
  cleanups.push(async () => place.server[Symbol.asyncDispose]());
  const place: Place = {
    data,
    gate,
    asked: (said) => model.asked(said).length,
    server,
    uhp: server.uhp,
    async restart() {
      await place.server[Symbol.asyncDispose]();
      place.server = await start();
      place.uhp = place.server.uhp;
    },
  };
  return place;
}

const usage = async (uhp: Uhp) => (await uhp.send('GET', '/v1/reins/usage')).body as unknown as Record<string, object>;
const background = (uhp: Uhp, input: string, more: object = {}) => uhp.create({ input, background: true, ...more });

function expectRefused(answer: Answer, status: number, code: string): unknown {
  expect(answer).toMatchObject({ status, code });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  return (answer.body['error'] as { detail?: unknown }).detail;
}

describe('UR-53: tasks', () => {
  test('no more than so many at once: the next is refused, and let in when one has ended', async () => {
    const { uhp, gate } = await open({ runningTasks: 1 });
    const { body: first } = await background(uhp, 'held');
    expect(expectRefused(await uhp.create({ input: 'x' }), 429, 'rate_limited')).toEqual({ cap: 'runningTasks' });
    expect(await usage(uhp)).toMatchObject({ running: { used: 1, limit: 1 }, tasks: { used: 1 } });
    gate.open();
    await ended(uhp, first.id);
    expect((await uhp.create({ input: 'x' })).body).toMatchObject({ status: 'completed' });
  });

  test('no more than so many a minute, after a restart too; a repeated request is answered all the same', async () => {
    const place = await open({ tasksPerMinute: 2 });
    const keyed = { 'idempotency-key': 'k' };
    const first = await place.uhp.create({ input: 'x' }, keyed);
    await place.uhp.create({ input: 'x' });
    await place.restart();
    expectRefused(await place.uhp.create({ input: 'x' }), 429, 'rate_limited');
    expect((await place.uhp.create({ input: 'x' }, keyed)).body.id).toBe(first.body.id);
    expect(await usage(place.uhp)).toMatchObject({ tasks: { used: 2, limit: 2, resets_at: expect.any(Number) } });
  });

  test('a follow-up whose principal has its fill waits, and is not held for it', async () => {
    const { uhp, gate } = await open({ runningTasks: 1 });
    const { body: first } = await uhp.create({ input: 'x' });
    const { body: other } = await background(uhp, 'held');
    const path = `/v1/reins/sessions/${first.metadata.session_id}/queue`;
    expect((await uhp.send('POST', path, { body: { input: 'y' } })).body).toMatchObject({ status: 'queued' });
    expect((await uhp.send('GET', path)).body).toMatchObject({ held: false });
    gate.open();
    await ended(uhp, other.id);
    await eventually(async () => {
      const { body } = await uhp.send('GET', `/v1/sessions/${first.metadata.session_id}/turns`);
      return (body['turns'] as unknown[]).length === 2 || undefined;
    });
  });

  test('one principal has other limits than the rest', async () => {
    const { uhp, server } = await open({ runningTasks: null, principals: { ada: { runningTasks: 0 } } });
    const { body } = await uhp.send('POST', '/v1/reins/keys', { body: { principal: 'ada' } });
    const ada = connectTo(server.url, String(body['key']));
    expectRefused(await ada.create({ input: 'x' }), 429, 'rate_limited');
    expect((await uhp.create({ input: 'x' })).body.status).toBe('completed');
  });
});

describe('UR-53: what may be spent a day', () => {
  const resetsAt = () => Math.ceil(Date.now() / 86_400_000) * 86_400;
  test.each([
    ['tokens', { tokensPerDay: 30 }, { limit: 30, used: 34 }],
    ['dollars', { dollarsPerDay: 0.0003 }, { limit: 0.0003, used: expect.closeTo(0.000342, 9) }],
  ])('%s: what is left is the budget of the next task; with nothing left none begins', async (quota, limits, spent) => {
    const place = await open(limits);
    expect((await place.uhp.create({ input: 'x' })).body).toMatchObject({ status: 'completed' });
    expect((await place.uhp.create({ input: 'long' })).body).toMatchObject({
      status: 'incomplete',
      error: null,
      incomplete_details: { reason: 'quota' },
    });
    const reset = resetsAt();
    const detail = expectRefused(await place.uhp.create({ input: 'x' }), 429, 'quota_exhausted');
    expect(detail).toEqual({ quota, resets_at: reset, ...spent });
    await place.restart();
    expectRefused(await place.uhp.create({ input: 'x' }), 429, 'quota_exhausted');
    expect(await usage(place.uhp)).toMatchObject({ principal: 'owner', [quota]: { ...spent, resets_at: reset } });
    expect(place.asked('x')).toBe(1);
  });

  test("a task's own tighter budget is named as what it is", async () => {
    const { uhp } = await open({ tokensPerDay: 1_000_000 });
    const { body } = await uhp.create({ input: 'long', max_output_tokens: 5 });
    expect(body).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  });

  test('UR-43: what nobody limits has no limit in the answer', async () => {
    const { uhp } = await open({});
    await uhp.create({ input: 'x' });
    const { window, ...rest } = await usage(uhp);
    expect(window).toEqual({ starts_at: resetsAt() - 86_400, resets_at: resetsAt() });
    expect(rest).toEqual({
      principal: 'owner',
      tasks: { used: 1, resets_at: expect.any(Number) },
      running: { used: 0 },
      tokens: { used: 17, resets_at: resetsAt() },
      dollars: { used: expect.closeTo(0.000171, 9), resets_at: resetsAt() },
      upload_bytes: { used: 0, resets_at: resetsAt() },
    });
  });

  test('uploaded bytes: a file that has no room is refused and leaves nothing', async () => {
    const { server } = await open({ uploadBytesPerDay: 10 });
    const upload = async (bytes: number) => {
      const form = new FormData();
      form.append('file', new Blob(['x'.repeat(bytes)]), 'a.txt');
      form.append('purpose', 'user_data');
      const headers = { authorization: `Bearer test-key-of-the-owner` };
      const answer = await fetch(`${server.url}/v1/files`, { method: 'POST', headers, body: form });
      const body = (await answer.json()) as { error?: { code: string; detail: object } };
      return { status: answer.status, retry: answer.headers.get('retry-after'), error: body.error };
    };
    expect((await upload(6)).status).toBe(200);
    const refused = await upload(6);
    expect(refused).toMatchObject({ status: 429, error: { code: 'quota_exhausted' } });
    expect(refused.error?.detail).toEqual({ quota: 'upload_bytes', limit: 10, used: 6, resets_at: resetsAt() });
    expect(Number(refused.retry)).toBeGreaterThan(0);
    expect((await upload(4)).status).toBe(200);
    expect((await upload(1)).status).toBe(429);
    expect(await usage(server.uhp)).toMatchObject({ upload_bytes: { used: 10, limit: 10 } });
  });
});

describe('UD-59: more tasks than may work at once', () => {
  const oneQueue = 'each server has places and a queue of its own';
  const oneAtOnce = { concurrentTasks: 1, queuedTasks: 1 };

  test('the next is accepted and waits, the one after it is refused with nothing written; they begin in order', async () => {
    needsOneServer(oneQueue);
    const { uhp, gate, asked } = await open(oneAtOnce);
    const { body: first } = await background(uhp, 'held');
    const second = await uhp.stream({ input: 'second' });
    const { value: created } = await second.frames.next();
    expect(created?.event.type).toBe('response.created');
    const detail = expectRefused(await uhp.create({ input: 'third' }), 503, 'harness_unavailable');
    expect(detail).toMatchObject({ request_id: expect.any(String) });
    expect(await usage(uhp)).toMatchObject({ running: { used: 2 } });
    await eventually(() => asked('held') === 1 || undefined);
    expect(asked('second')).toBe(0);
    gate.open();
    const rest = await Array.fromAsync(second.frames);
    expect(rest[0]?.event.type).toBe('response.in_progress');
    expect(rest.at(-1)?.event.type).toBe('response.completed');
    expect((await ended(uhp, first.id)).status).toBe('completed');
  });

  test('UT-17: cancelled while it waits it ends within a second, begins nothing and gives its place to another', async () => {
    const { uhp, gate, asked } = await open(oneAtOnce);
    const { body: first } = await background(uhp, 'held');
    const { body: second } = await background(uhp, 'second');
    const at = performance.now();
    await uhp.cancel(second.id);
    const { status, error, metadata, output } = await ended(uhp, second.id);
    expect(performance.now() - at).toBeLessThan(1_000);
    expect({ status, error, output }).toEqual({ status: 'cancelled', error: null, output: [] });
    expect(metadata).not.toHaveProperty('reins_unstopped');
    const { body: third } = await background(uhp, 'third');
    gate.open();
    expect([(await ended(uhp, first.id)).status, (await ended(uhp, third.id)).status]).toEqual([
      'completed',
      'completed',
    ]);
    expect(asked('second')).toBe(0);
    const more = await uhp.create({ input: 'more', previous_response_id: second.id });
    expect(more.body).toMatchObject({ status: 'completed' });
  });

  test('its waiting counts against its time', async () => {
    needsOneServer(oneQueue);
    const { uhp, asked } = await open(oneAtOnce);
    await background(uhp, 'held');
    const { body } = await uhp.create({ input: 'second', timeout_seconds: 1 });
    expect(body).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'timeout' }, error: null });
    expect(asked('second')).toBe(0);
  });

  test('a task that waits for a person gives its place to others, and takes one again when it goes on', async () => {
    const { uhp } = await open(oneAtOnce, { approvals: { toolPermissions: { write_file: 'ask' } } });
    const { body: parked } = await background(uhp, 'long');
    const [asked] = await eventually(async () => {
      const found = await listAsked(uhp, `response=${parked.id}`);
      return found.length === 0 ? undefined : found;
    });
    expect((await uhp.create({ input: 'x' })).body).toMatchObject({ status: 'completed' });
    await uhp.send('POST', `/v1/reins/approvals/${asked?.id}/decide`, { body: { decision: 'approve' } });
    expect((await ended(uhp, parked.id)).status).toBe('completed');
  });

  test('what waited, and what worked, goes on after a restart, still one at a time', async () => {
    needsOneServer(oneQueue);
    const place = await open(oneAtOnce);
    const { body: first } = await background(place.uhp, 'held');
    const { body: second } = await background(place.uhp, 'held too');
    await eventually(() => place.asked('held') === 1 || undefined);
    await place.restart();
    // The one that worked is asked for again; either may be the first to find a place.
    await eventually(() => place.asked('held') + place.asked('held too') === 2 || undefined);
    const { body: third } = await background(place.uhp, 'x');
    expectRefused(await background(place.uhp, 'x'), 503, 'harness_unavailable');
    place.gate.open();
    for (const { id } of [first, second, third]) expect((await ended(place.uhp, id)).status).toBe('completed');
  });
});

test('UD-59: a stream of a waiting task is left and found again like any other', async () => {
  const { uhp, gate } = await open({ concurrentTasks: 1 });
  await background(uhp, 'held');
  const [created] = await until(await uhp.stream({ input: 'second' }), () => true);
  const id = created?.event.response?.id ?? '';
  gate.open();
  const frames = await whole(uhp.attach(id, { after: 0 }));
  expect(frames.map(({ id: number }) => number)).toEqual(frames.map((_, index) => index + 1));
});
