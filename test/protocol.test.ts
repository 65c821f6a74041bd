// Sessions, idempotency, background and stored responses over real HTTP. A task that has to be running is one whose model
// waits at a gate.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addHarness, startServer, type TestServer } from './support/server.ts';
import { answerOf, isDelta, isTerminal } from './support/event-stream.ts';
import { call, reply, type Replies } from './support/model.ts';
import { connectTo, ended, finalOf, until, whole } from './support/uhp.ts';
import { countRows } from './support/rows.ts';
import { startedFolder } from './support/folders.ts';
import { startHeld } from './support/held-server.ts';

describe('sessions', () => {
  test('UT-01: a task in a busy session is refused and starts nothing; on the terminal event the next one is accepted', async () => {
    await using place = await startHeld();
    const { uhp, gate, data, model } = place;
    const stream = await uhp.stream({ input: 'held' });
    const first = (await stream.frames.next()).value?.event.response;
    const before = countRows(data);
    const second = await uhp.create(
      { input: 'second', previous_response_id: first?.id },
      { 'idempotency-key': 'busy' },
    );
    expect(second).toMatchObject({ status: 409, code: 'session_busy', param: 'previous_response_id' });
    expect(countRows(data)).toEqual(before);
    gate.open();
    for await (const frame of stream.frames)
      if (isTerminal(frame)) {
        // The key of the refused request is free (UD-13), and so is the session (UD-21).
        const next = await uhp.create(
          { input: 'second', previous_response_id: first?.id },
          { 'idempotency-key': 'busy' },
        );
        expect(next).toMatchObject({ status: 200, body: { previous_response_id: first?.id } });
        expect(next.headers.get('idempotent-replayed')).toBeNull();
      }
    expect(model.asked('second')).toHaveLength(1);
  });

  test('UD-21: forty tasks, each sent on the terminal event of the one before, are never refused', async () => {
    await using place = await startHeld();
    let previous: string | undefined;
    for (let turn = 0; turn < 40; turn++) {
      const stream = await place.uhp.stream({
        input: `turn ${turn}`,
        ...(previous === undefined ? {} : { previous_response_id: previous }),
      });
      const frames = await until(stream, isTerminal);
      previous = finalOf(frames).id;
    }
    // Each had the whole conversation before it.
    expect(place.model.asked('turn 39')[0]?.body['messages']).toHaveLength(79);
  });

  test('B106: of fifty tasks at once that continue one response exactly one is accepted', async () => {
    await using place = await startHeld();
    const { uhp, gate } = place;
    const first = await uhp.create({ input: 'one' });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        uhp.create({ input: `held ${n}`, previous_response_id: first.body.id, background: true }),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted).toHaveLength(1);
    expect(answers.filter(({ code }) => code === 'session_busy')).toHaveLength(49);
    gate.open();
    expect((await ended(uhp, accepted[0]?.body.id ?? '')).status).toBe('completed');
    expect(countRows(place.data).runs).toBe(2);
  });

  test('UT-02: a session keeps its harness: another one is a mismatch, an unknown or foreign one is not found', async () => {
    const data = await startedFolder();
    const second = await addHarness(data, 'owner');
    const foreign = await addHarness(data, 'stranger');
    await using place = await startHeld(data);
    const { uhp } = place;
    const first = await uhp.create({ input: 'one' });
    const before = countRows(data);
    const continueWith = (harness_id: string) =>
      uhp.create({ input: 'two', previous_response_id: first.body.id, metadata: { harness_id } });
    expect(await continueWith(second.harnessId)).toMatchObject({
      status: 409,
      code: 'harness_mismatch',
      param: 'metadata.harness_id',
    });
    for (const harness_id of [foreign.harnessId, 'chrn_nosuch', 'nonsense', '../x']) {
      const unknown = { status: 404, code: 'harness_not_found', param: 'metadata.harness_id' };
      expect(await continueWith(harness_id)).toMatchObject(unknown);
      expect(await uhp.create({ input: 'two', metadata: { harness_id } })).toMatchObject(unknown);
    }
    expect(countRows(data)).toEqual(before);
    const own = String(first.body.metadata['harness_id']);
    expect(await continueWith(own)).toMatchObject({
      status: 200,
      body: { metadata: { session_id: first.body.metadata.session_id } },
    });
    const other = await uhp.create({ input: 'x', metadata: { harness_id: second.harnessId } });
    expect(other.body.metadata['harness_id']).toBe(second.harnessId);
  });

  test('UT-03: a previous response that is unknown, foreign or deleted starts no session', async () => {
    const data = await startedFolder();
    const { token } = await addHarness(data, 'stranger');
    await using place = await startHeld(data);
    const mine = await place.uhp.create({ input: 'mine' });
    const gone = await place.uhp.create({ input: 'gone' });
    await place.uhp.send('DELETE', `/v1/responses/${gone.body.id}`);
    const before = countRows(data);
    const notFound = { status: 404, code: 'response_not_found' };
    for (const previous_response_id of ['resp_nosuch', 'nonsense', 'hsess1', 'resp_', gone.body.id])
      expect(await place.uhp.create({ input: 'x', previous_response_id })).toMatchObject(notFound);
    const stranger = connectTo(place.url, token);
    expect(await stranger.create({ input: 'x', previous_response_id: mine.body.id })).toMatchObject(notFound);
    expect(countRows(data)).toEqual(before);
  });

  test('UD-28: a response that is not the tip cannot be continued, and the answer names the tip', async () => {
    await using place = await startHeld();
    const first = await place.uhp.create({ input: 'one' });
    const second = await place.uhp.create({ input: 'two', previous_response_id: first.body.id });
    const late = await place.uhp.create({ input: 'three', previous_response_id: first.body.id });
    expect(late).toMatchObject({
      status: 409,
      code: 'reins_not_session_tip',
      body: { error: { detail: { tip: second.body.id } } },
    });
    // UD-08: once the tip is deleted, the response before it is the tip.
    await place.uhp.send('DELETE', `/v1/responses/${second.body.id}`);
    expect((await place.uhp.create({ input: 'three', previous_response_id: first.body.id })).status).toBe(200);
  });
});

describe('idempotency', () => {
  let place: Awaited<ReturnType<typeof startHeld>>;
  beforeAll(async () => {
    place = await startHeld(await startedFolder());
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test('UT-05, B114: a key used twice gives one task and one answer', async () => {
    const { uhp, model } = place;
    const first = await uhp.create({ input: 'sequential' }, { 'idempotency-key': 'k5' });
    const again = await uhp.create({ input: 'sequential' }, { 'idempotency-key': 'k5' });
    expect(again.body).toEqual(first.body);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(model.asked('sequential')).toHaveLength(1);
  });

  test('UT-06, B113, B118: twenty at once, plain and streamed, wait for one task and get its answer', async () => {
    await using held = await startHeld();
    const { uhp, model, gate } = held;
    const headers = { 'idempotency-key': 'k6' };
    const body = { input: 'held together' };
    const plain = Array.from({ length: 10 }, () => uhp.create(body, headers));
    const streamed = Array.from({ length: 10 }, () => whole(uhp.stream(body, headers)));
    const first = await until(await uhp.stream(body, headers), isDelta);
    expect(first.at(-1)?.event.delta).toBe('first ');
    gate.open();
    const answers = (await Promise.all(plain)).map(({ body: answer }) => answer);
    const streams = await Promise.all(streamed);
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    for (const frames of streams) expect(frames).toEqual(streams[0]);
    expect(finalOf(streams[0] ?? [])).toEqual(answers[0]);
    expect(model.asked('held together')).toHaveLength(1);
    expect(countRows(held.data)).toEqual({ runs: 1, sessions: 1, keys: 1 });
  });

  test('UT-07: a replay is the same bytes, whichever form came first', async () => {
    const { uhp } = place;
    const streamed = await whole(uhp.stream({ input: 's then p' }, { 'idempotency-key': 'k7a' }));
    expect((await uhp.create({ input: 's then p' }, { 'idempotency-key': 'k7a' })).body).toEqual(finalOf(streamed));
    expect(await whole(uhp.stream({ input: 's then p' }, { 'idempotency-key': 'k7a' }))).toEqual(streamed);
    const plain = await uhp.create({ input: 'p then s' }, { 'idempotency-key': 'k7b' });
    const replay = await uhp.stream({ input: 'p then s' }, { 'idempotency-key': 'k7b' });
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    const frames = await Array.fromAsync(replay.frames);
    expect(finalOf(frames)).toEqual(plain.body);
    expect(frames).toEqual(await whole(uhp.attach(plain.body.id)));
  });

  test('UT-08: another body gets the first result, marked; the form of delivery is no part of the body', async () => {
    const { uhp, model } = place;
    const first = await uhp.create({ input: 'original' }, { 'idempotency-key': 'k8' });
    const other = await uhp.create({ input: 'changed' }, { 'idempotency-key': 'k8' });
    expect(other.body).toEqual(first.body);
    expect(other.headers.get('reins-idempotency-mismatch')).toBe('true');
    expect(model.asked('changed')).toHaveLength(0);
    const background = await uhp.create(
      { input: 'original', background: true, stream: false },
      { 'idempotency-key': 'k8' },
    );
    expect(background.headers.get('reins-idempotency-mismatch')).toBeNull();
    expect(background.body).toEqual(first.body);
  });

  test('UT-08, B114: keys belong to their principal, survive a restart, and end with their response', async () => {
    const data = await startedFolder();
    const { token } = await addHarness(data, 'stranger');
    const headers = { 'idempotency-key': 'k' };
    const first = await (async () => {
      await using before = await startHeld(data);
      const stranger = connectTo(before.url, token);
      const mine = await before.uhp.create({ input: 'mine' }, headers);
      const theirs = await stranger.create({ input: 'mine' }, headers);
      expect(theirs.status).toBe(200);
      expect(theirs.body.id).not.toBe(mine.body.id);
      return mine;
    })();
    await using after = await startHeld(data);
    const again = await after.uhp.create({ input: 'mine' }, headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    await after.uhp.send('DELETE', `/v1/responses/${first.body.id}`);
    expect(await after.uhp.create({ input: 'mine' }, headers)).toMatchObject({
      status: 404,
      code: 'response_not_found',
    });
    expect(after.model.server.requests).toHaveLength(0);
  });

  test('UD-10: a key is 1 to 255 visible ASCII characters', async () => {
    const { uhp } = place;
    for (const name of ['', 'a b', 'é', 'x'.repeat(256)])
      expect(await uhp.create({ input: 'x' }, { 'idempotency-key': name })).toMatchObject({
        status: 400,
        param: 'Idempotency-Key',
      });
    expect((await uhp.create({ input: 'x' }, { 'idempotency-key': '!~'.repeat(127) })).status).toBe(200);
  });
});

describe('background, store, delete', () => {
  let place: Awaited<ReturnType<typeof startHeld>>;
  beforeAll(async () => {
    place = await startHeld(await startedFolder());
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test('UT-35: a background task answers at once, goes on, and is followed by GET and by re-attaching', async () => {
    await using held = await startHeld();
    const { uhp, gate } = held;
    const started = await uhp.create({ input: 'held', background: true });
    expect(started.body).toMatchObject({ status: 'in_progress', model: 'openai-compatible/m', usage: null });
    expect(started.body.metadata.session_id).toMatch(/^hsess/);
    const seen = await until(await uhp.attach(started.body.id), isDelta);
    const during = await uhp.get(started.body.id);
    expect(during.body).toMatchObject({ status: 'in_progress', output: [{ type: 'message', status: 'in_progress' }] });
    expect(answerOf(during.body)).toBe('first ');
    gate.open();
    const rest = await whole(uhp.attach(started.body.id, { after: seen.length - 1 }));
    expect(finalOf(rest)).toEqual((await uhp.get(started.body.id)).body);
    expect(answerOf(finalOf(rest))).toBe('first second');
  });

  test('UD-06: a stream wins over background and says so; nothing runs in the background that is not stored', async () => {
    const { uhp, data } = place;
    const frames = await whole(uhp.stream({ input: 'both', background: true }));
    expect(finalOf(frames).metadata['ignored_fields']).toEqual(['background']);
    const before = countRows(data);
    for (const stream of [false, true])
      expect(await uhp.create({ input: 'x', background: true, store: false, stream })).toMatchObject({
        status: 400,
        param: 'background',
      });
    expect(countRows(data)).toEqual(before);
  });

  test('UT-36: what is not stored is readable while it runs and not after; its session goes on', async () => {
    await using held = await startHeld();
    const { uhp, gate } = held;
    const stream = await uhp.stream({ input: 'held', store: false });
    const id = (await stream.frames.next()).value?.event.response?.id ?? '';
    expect((await uhp.get(id)).body).toMatchObject({ status: 'in_progress', store: false });
    gate.open();
    expect(finalOf(await Array.fromAsync(stream.frames)).status).toBe('completed');
    const gone = { status: 404, code: 'response_not_found' };
    expect(await uhp.get(id)).toMatchObject(gone);
    expect(await uhp.send('GET', `/v1/responses/${id}/input_items`)).toMatchObject(gone);
    expect(await uhp.send('GET', `/v1/responses/${id}?stream=true`)).toMatchObject(gone);
    expect(await uhp.send('DELETE', `/v1/responses/${id}`)).toMatchObject(gone);
    const next = await uhp.create({ input: 'next', previous_response_id: id });
    expect(next.status).toBe(200);
    expect(held.model.asked('next')[0]?.body['messages']).toHaveLength(3);
  });

  test('UD-07: with a key, the result of a task that is not stored is kept for that key', async () => {
    const { uhp } = place;
    const first = await uhp.create({ input: 'kept', store: false }, { 'idempotency-key': 'k36' });
    const again = await uhp.create({ input: 'kept', store: false }, { 'idempotency-key': 'k36' });
    expect(again).toMatchObject({ status: 200, body: first.body });
    expect((await uhp.get(first.body.id)).status).toBe(404);
  });

  test('UT-36: deleting a running response hides it at once and stops nothing', async () => {
    await using held = await startHeld();
    const { uhp, gate } = held;
    const first = await uhp.create({ input: 'one' });
    const stream = await uhp.stream({ input: 'held', previous_response_id: first.body.id });
    const id = (await stream.frames.next()).value?.event.response?.id ?? '';
    expect(await uhp.send('DELETE', `/v1/responses/${id}`)).toMatchObject({ status: 200, body: { id, deleted: true } });
    expect((await uhp.get(id)).status).toBe(404);
    expect(await uhp.create({ input: 'x', previous_response_id: first.body.id })).toMatchObject({
      code: 'session_busy',
    });
    gate.open();
    expect(answerOf(finalOf(await Array.fromAsync(stream.frames)))).toBe('first second');
    const next = await uhp.create({ input: 'next', previous_response_id: first.body.id });
    expect(next.status).toBe(200);
    // The session kept the conversation of the deleted response.
    expect(held.model.asked('next')[0]?.body['messages']).toHaveLength(5);
  });
});

test('UT-24: a field without effect is named, a field with one is not, and nothing sent widens what the agent can do', async () => {
  await using place = await startHeld();
  const { uhp, model } = place;
  const plain = await uhp.create({ input: 'plain', instructions: 'Be brief.', metadata: { mine: 1 } });
  expect(plain.body.metadata).not.toHaveProperty('ignored_fields');
  expect(plain.body.metadata['mine']).toBe(1);
  const tools = [{ type: 'function', name: 'evil', parameters: {} }];
  const many = await uhp.create({
    input: 'many',
    tools,
    include: [],
    temperature: null,
    top_p: 1,
    x_unknown: {},
    metadata: { session_id: 'mine', reins_secret: 1, reins_events: 'true', environment: 'e' },
  });
  expect(many.status).toBe(200);
  expect([...(many.body.metadata['ignored_fields'] as string[])].toSorted()).toEqual([
    'include',
    'metadata.environment',
    'metadata.reins_secret',
    'metadata.session_id',
    'temperature',
    'tools',
    'top_p',
    'x_unknown',
  ]);
  expect(many.body.metadata.session_id).toMatch(/^hsess/);
  expect(JSON.stringify(model.asked('many')[0]?.body['tools'])).not.toContain('evil');
  expect(Object.keys(model.asked('many')[0]?.body ?? {})).not.toContain('top_p');
});

test('UT-22: none of the four ends changes again, by a cancel or by a restart', async () => {
  const data = await startedFolder();
  const replies: Replies = {
    refused: [{ fault: { kind: 'status', status: 400, message: 'no' } }],
    tooling: [reply(call('c', 'list_files', {}))],
  };
  const ends: Record<string, unknown> = {};
  const frames: Record<string, unknown> = {};
  await (async () => {
    await using before = await startHeld(data, replies);
    const { uhp } = before;
    const running = await uhp.create({ input: 'held', background: true });
    await until(await uhp.attach(running.body.id), isDelta);
    const responses = [
      (await uhp.create({ input: 'good' })).body,
      (await uhp.create({ input: 'refused' })).body,
      (await uhp.create({ input: 'tooling', max_step: 1 })).body,
      (await uhp.cancel(running.body.id)).body,
    ];
    expect(responses.map(({ status }) => status)).toEqual(['completed', 'failed', 'incomplete', 'cancelled']);
    for (const body of responses) {
      expect(await uhp.cancel(body.id)).toMatchObject({ status: 200, body });
      ends[body.id] = body;
      frames[body.id] = await whole(uhp.attach(body.id));
    }
  })();
  await using after: TestServer = await startServer({ data });
  for (const [id, body] of Object.entries(ends)) {
    expect((await after.uhp.get(id)).body).toEqual(body);
    expect(await after.uhp.cancel(id)).toMatchObject({ status: 200, body: body as object });
    expect(await whole(after.uhp.attach(id))).toEqual(frames[id]);
  }
});
