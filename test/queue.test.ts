// UT-41: follow-ups that wait for their session.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addHarness } from './support/server.ts';
import { answerOf, type Body } from './support/event-stream.ts';
import { connectTo, ended, type Uhp } from './support/uhp.ts';
import { eventually, startAsking, type AskingServer } from './support/asking-server.ts';
import type { Replies } from './support/model.ts';

const replies: Replies = { fails: [{ fault: { kind: 'status', status: 400 } }] };

interface Entry {
  readonly id: string;
  readonly status: string;
  readonly position: number;
  readonly response_id: string | null;
}

const pathOf = ({ metadata }: Body) => `/v1/reins/sessions/${metadata.session_id}/queue`;
const add = (uhp: Uhp, task: Body, body: object) => uhp.send('POST', pathOf(task), { body });
const resume = (uhp: Uhp, task: Body) => uhp.send('POST', `${pathOf(task)}/resume`);
const read = async (uhp: Uhp, task: Body) =>
  (await uhp.send('GET', pathOf(task))).body as unknown as { queue: readonly Entry[]; held: boolean };

let place: AskingServer;
beforeAll(async () => {
  place = await startAsking({ replies });
});
afterAll(() => place[Symbol.asyncDispose]());

/** A task that stands in its first word. */
async function begin(server: AskingServer, input = 'held'): Promise<Body> {
  const before = server.model.asked(input).length;
  const { body } = await server.uhp.create({ input, background: true });
  await eventually(() => server.model.asked(input).length > before || undefined);
  return body;
}

/** The response of an entry, once it has one. */
async function startedAs(uhp: Uhp, task: Body, id: string): Promise<string> {
  return eventually(async () => {
    const { queue } = await read(uhp, task);
    return queue.find((entry) => entry.id === id)?.response_id ?? undefined;
  });
}

describe('UR-21, UR-22, UR-32: in order, behind what runs', () => {
  test('entries wait, start one after the other, continue the tip, and say which message they were', async () => {
    await using held = await startAsking({ replies });
    const task = await begin(held);
    const refused = await held.uhp.create({ input: 'x', previous_response_id: task.id });
    expect(refused).toMatchObject({ status: 409, code: 'session_busy' });
    const first = await add(held.uhp, task, { input: 'held too', message_id: 'm-1', metadata: { mine: 1 } });
    expect(first).toMatchObject({
      status: 200,
      body: { id: 'm-1', object: 'reins.queued_task', status: 'queued', position: 1, response_id: null },
    });
    const { body: second } = await add(held.uhp, task, { input: 'and then?' });
    expect(second).toMatchObject({ status: 'queued', position: 2 });
    expect(await read(held.uhp, task)).toEqual({ queue: [first.body, second], held: false });
    held.gate.open();
    await eventually(async () => (await read(held.uhp, task)).queue.length === 0 || undefined);
    expect((await held.uhp.get(task.id)).body).toMatchObject({ status: 'completed' });
    const last = held.model.asked('and then?')[0]?.body['messages'] as { role: string; content: unknown }[];
    expect(last.filter(({ role }) => role === 'user').map(({ content }) => JSON.stringify(content))).toEqual([
      expect.stringContaining('held'),
      expect.stringContaining('held too'),
      expect.stringContaining('and then?'),
    ]);
    // A repeat after the end: the same entry, and the task it became.
    const again = await add(held.uhp, task, { input: 'held too', message_id: 'm-1', metadata: { mine: 1 } });
    expect(again.body).toMatchObject({
      id: 'm-1',
      status: 'started',
      response_id: expect.stringMatching(/^resp_/) as string,
    });
    const response = (await held.uhp.get(String(again.body['response_id']))).body;
    expect(response).toMatchObject({ status: 'completed', previous_response_id: task.id });
    expect(response.metadata).toMatchObject({ mine: 1, reins_message_id: 'm-1', session_id: task.metadata.session_id });
  });

  test('in a free session it starts at once', async () => {
    const { body: task } = await place.uhp.create({ input: 'hello' });
    const { body: entry } = await add(place.uhp, task, { input: 'at once' });
    expect(entry).toMatchObject({ status: 'started', position: 0 });
    const final = await ended(place.uhp, String(entry['response_id']));
    expect(answerOf(final)).toBe('You said: at once');
    expect(final['previous_response_id']).toBe(task.id);
    expect(await read(place.uhp, task)).toEqual({ queue: [], held: false });
  });

  test('UR-33: an id twice is one entry; with another body it is refused', async () => {
    const task = await begin(place);
    const first = await add(place.uhp, task, { input: 'once', message_id: 'm' });
    expect((await add(place.uhp, task, { input: 'once', message_id: 'm' })).body).toEqual(first.body);
    expect(await add(place.uhp, task, { input: 'twice', message_id: 'm' })).toMatchObject({
      status: 409,
      code: 'reins_idempotency_conflict',
    });
    expect((await read(place.uhp, task)).queue).toHaveLength(1);
    await place.uhp.cancel(task.id);
  });

  test('UR-23: an entry can be taken back until it has started', async () => {
    await using held = await startAsking({ replies });
    const task = await begin(held);
    for (const message_id of ['gone', 'resume']) await add(held.uhp, task, { input: 'x', message_id });
    await add(held.uhp, task, { input: 'held b', message_id: 'stays' });
    for (const id of ['gone', 'resume']) {
      const removed = await held.uhp.send('DELETE', `${pathOf(task)}/${id}`);
      expect(removed).toMatchObject({ status: 200, body: { id, deleted: true } });
      expect(await held.uhp.send('DELETE', `${pathOf(task)}/${id}`)).toMatchObject({ code: 'reins_message_not_found' });
    }
    held.gate.open();
    await startedAs(held.uhp, task, 'stays').catch(() => {});
    expect(await held.uhp.send('DELETE', `${pathOf(task)}/stays`)).toMatchObject({ code: 'reins_message_not_found' });
    expect(held.model.asked('x')).toEqual([]);
  });

  test('UR-21: what could never start is refused at once; so is the 101st', async () => {
    const task = await begin(place);
    const refusals: [object, number, string][] = [
      [{}, 400, 'invalid_input'],
      [{ input: 'x', previous_response_id: task.id }, 400, 'invalid_input'],
      [{ input: 'x', stream: true }, 400, 'invalid_input'],
      [{ input: 'x', timeout_seconds: 1e9 }, 400, 'invalid_input'],
      [{ input: 'x', model: 'no/such' }, 422, 'model_unavailable'],
      [{ input: 'x', metadata: { harness_id: 'chrn_none' } }, 404, 'harness_not_found'],
    ];
    for (const [body, status, code] of refusals)
      expect(await add(place.uhp, task, body)).toMatchObject({ status, code });
    for (let count = 0; count < 100; count++) await add(place.uhp, task, { input: 'x' });
    const full = await add(place.uhp, task, { input: 'x' });
    expect(full).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(full.headers.get('retry-after')).not.toBeNull();
    expect((await read(place.uhp, task)).queue.map(({ position }) => position)).toEqual(
      [...Array(100).keys()].map((at) => at + 1),
    );
    await place.uhp.cancel(task.id);
  });
});

describe('E-664, UR-24: after a failure or a cancel the queue is held, until it is let go on', () => {
  test('a failure', async () => {
    await using held = await startAsking({ replies });
    const task = await begin(held);
    for (const [message_id, input] of [
      ['m-1', 'fails'],
      ['m-2', 'after that'],
    ])
      await add(held.uhp, task, { input, message_id });
    held.gate.open();
    await eventually(async () => (await read(held.uhp, task)).held || undefined);
    expect(await read(held.uhp, task)).toMatchObject({
      held: true,
      queue: [{ id: 'm-2', status: 'held', position: 1 }],
    });
    const late = await add(held.uhp, task, { input: 'last', message_id: 'm-3' });
    expect(late.body).toMatchObject({ status: 'held', position: 2 });
    expect(await resume(held.uhp, task)).toMatchObject({
      status: 200,
      body: {
        held: false,
        queue: [
          { id: 'm-2', status: 'started' },
          { id: 'm-3', status: 'queued', position: 1 },
        ],
      },
    });
    await eventually(async () => (await read(held.uhp, task)).queue.length === 0 || undefined);
    expect(held.model.asked('last')).toHaveLength(1);
  });

  test('a cancel', async () => {
    await using held = await startAsking({ replies });
    const task = await begin(held);
    await add(held.uhp, task, { input: 'after that', message_id: 'm-1' });
    await held.uhp.cancel(task.id);
    expect(await read(held.uhp, task)).toMatchObject({ held: true, queue: [{ status: 'held', position: 1 }] });
    held.gate.open();
    const { body } = await resume(held.uhp, task);
    const [entry] = (body as unknown as { queue: Entry[] }).queue;
    expect(await ended(held.uhp, entry?.response_id ?? '')).toMatchObject({ status: 'completed' });
    // Nothing waited: the session is free.
    const next = await begin(held, 'held again');
    await held.uhp.cancel(next.id);
    expect((await add(held.uhp, next, { input: 'x' })).body).toMatchObject({ status: 'started' });
  });
});

test('UT-41, E-830: the queue is there after a restart, and goes on by itself', async () => {
  await using held = await startAsking({ replies });
  const task = await begin(held);
  await add(held.uhp, task, { input: 'later', message_id: 'm-1' });
  await held.restart();
  expect((await read(held.uhp, task)).queue).toMatchObject([{ id: 'm-1', status: 'queued' }]);
  held.gate.open();
  await eventually(async () => (await read(held.uhp, task)).queue.length === 0 || undefined);
  expect(held.model.asked('later')).toHaveLength(1);
});

test('U-042: a session that is unknown or another’s has no queue', async () => {
  const { token } = await addHarness(place.data, 'stranger');
  const { body: task } = await place.uhp.create({ input: 'hello' });
  const foreign = connectTo(place.uhp.url, token);
  for (const [uhp, path] of [
    [place.uhp, '/v1/reins/sessions/hsessnone/queue'],
    [foreign, pathOf(task)],
  ] as const)
    for (const [method, end, body] of [
      ['GET', '', undefined],
      ['POST', '', { input: 'x' }],
      ['POST', '/resume', undefined],
      ['DELETE', '/m', undefined],
    ] as const)
      expect(await uhp.send(method, path + end, { body })).toMatchObject({ status: 404, code: 'session_not_found' });
});
