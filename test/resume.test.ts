// Streams that are cut and taken up again, and what of a task does not depend on who listens.

import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { answerOf, assembleOutput, isDelta, isTerminal, type Item, type SeenFrame } from './support/event-stream.ts';
import { call, reply, text, type Replies } from './support/model.ts';
import { createManualClock, type ManualClock } from '../src/testing/manual-clock.ts';
import { ended, finalOf, key, until, whole } from './support/uhp.ts';
import { startedFolder, temporaryFolder } from './support/folders.ts';
import { startHeld, type HeldServer } from './support/held-server.ts';
import { startModelServer } from '../src/testing/model-servers/model-server.ts';
import { startServer } from './support/server.ts';

const thinking = { kind: 'thinking', chunks: ['Let me ', 'see.'] } as const;
const tour = [
  reply(
    thinking,
    text('I will ', 'look.'),
    call('a', 'list_files', {}),
    call('b', 'write_file', { path: 'x', content: 'y' }),
  ),
  reply(text('There ', 'is ', 'nothing.')),
];
const replies: Replies = { tour, 'again tour': tour };

let place: HeldServer;
beforeAll(async () => {
  place = await startHeld(await startedFolder(), replies);
});
afterAll(() => place[Symbol.asyncDispose]());

const texts = (frames: readonly SeenFrame[]) => frames.map((frame) => frame.text);

describe('UT-09: a stream cut after any event is taken up without a gap and without a repeat', () => {
  test('after the end, by query and by header, once and twice', async () => {
    const frames = await whole(place.uhp.stream({ input: 'tour' }));
    const { id } = finalOf(frames);
    expect(frames.length).toBeGreaterThan(25);
    for (const by of ['query', 'header'] as const)
      for (const [k] of frames.slice(0, -1).entries()) {
        expect(texts(await whole(place.uhp.attach(id, { after: k, by })))).toEqual(texts(frames.slice(k + 1)));
        const next = await until(await place.uhp.attach(id, { after: k, by }), () => true);
        const rest = k + 1 === frames.length - 1 ? [] : await whole(place.uhp.attach(id, { after: k + 1, by }));
        expect(texts([...next.slice(0, 1), ...rest])).toEqual(texts(frames.slice(k + 1)));
      }
  });

  test('while the task runs: a client that is cut after each single event sees the whole stream', async () => {
    const started = await place.uhp.create({ input: 'tour', background: true });
    const { id } = started.body;
    const pieced: SeenFrame[] = [];
    while (!pieced.some(isTerminal)) {
      const by = pieced.length % 2 === 0 ? 'query' : 'header';
      const stream = await place.uhp.attach(id, pieced.length === 0 ? {} : { after: pieced.length - 1, by });
      pieced.push(...(await until(stream, () => true)));
    }
    expect(texts(pieced)).toEqual(texts(await whole(place.uhp.attach(id))));
  });

  test('by a repeated POST with its key, as SSE libraries do', async () => {
    const headers = { 'idempotency-key': 'resume-post' };
    const frames = await whole(place.uhp.stream({ input: 'tour' }, headers));
    for (const k of [0, 5, frames.length - 2]) {
      const again = await whole(place.uhp.stream({ input: 'tour' }, { ...headers, 'last-event-id': String(k) }));
      expect(texts(again)).toEqual(texts(frames.slice(k + 1)));
    }
  });

  test('B047, B049: readers with different cursors, some of which leave, each see every event once', async () => {
    await using held = await startHeld();
    const { id } = (await held.uhp.create({ input: 'held', background: true })).body;
    const seen = await until(await held.uhp.attach(id), isDelta);
    const readers = [undefined, 0, 1, seen.length - 1].map((after) =>
      whole(held.uhp.attach(id, after === undefined ? {} : { after })),
    );
    for (let n = 0; n < 5; n++) await until(await held.uhp.attach(id), isDelta);
    held.gate.open();
    const [all, ...later] = await Promise.all(readers);
    expect(texts(all ?? []).slice(0, seen.length)).toEqual(texts(seen));
    expect(later.map((frames) => frames.length)).toEqual([1, 2, seen.length].map((from) => (all?.length ?? 0) - from));
    for (const frames of later) expect(texts(frames)).toEqual(texts(all?.slice(-frames.length) ?? []));
  });

  test('B051: a log of many pages is replayed from any number, in bytes as it was live', async () => {
    const pieces = Array.from({ length: 1500 }, (_, n) => call(`c${n}`, 'list_files', { path: '.' }));
    await using long = await startHeld(undefined, { long: [reply(...pieces.slice(0, 100)), reply(text('done'))] });
    const frames = await whole(long.uhp.stream({ input: 'long' }));
    expect(frames.length).toBeGreaterThan(500);
    const { id } = finalOf(frames);
    for (const after of [0, 1, 63, 64, 127, 128, 129, 511, 512, frames.length - 2])
      expect(texts(await whole(long.uhp.attach(id, { after })))).toEqual(texts(frames.slice(after + 1)));
    expect(texts(await whole(long.uhp.attach(id)))).toEqual(texts(frames));
  });
});

describe('UT-10: each row of the table of cursors', () => {
  const get = (path: string, headers = {}) => place.uhp.send('GET', path, { headers });

  test('of a task that has ended', async () => {
    const frames = await whole(place.uhp.stream({ input: 'one' }, { 'idempotency-key': 'rows' }));
    const { id } = finalOf(frames);
    const last = frames.length - 1;
    const nothing = await get(`/v1/responses/${id}?stream=true&starting_after=${last}`);
    expect({ status: nothing.status, body: nothing.body }).toEqual({ status: 204, body: {} });
    expect((await get(`/v1/responses/${id}?stream=true`, { 'last-event-id': String(last) })).status).toBe(204);
    const beyond = {
      status: 400,
      code: 'reins_cursor_out_of_range',
      body: { error: { detail: { last_sequence_number: last } } },
    };
    expect(await get(`/v1/responses/${id}?stream=true&starting_after=${last + 1}`)).toMatchObject(beyond);
    expect(await get(`/v1/responses/${id}?stream=true`, { 'last-event-id': '99999' })).toMatchObject(beyond);
    for (const wrong of ['-1', 'x', '1.5', '', '0x1', '1e3', '99999999999999999999'])
      expect(await get(`/v1/responses/${id}?stream=true&starting_after=${wrong}`)).toMatchObject({
        status: 400,
        code: 'invalid_input',
      });
    // The header beats the query.
    const both = await get(`/v1/responses/${id}?stream=true&starting_after=0`, { 'last-event-id': String(last) });
    expect(both.status).toBe(204);
    expect(await get(`/v1/responses/${id}?stream=maybe`)).toMatchObject({ status: 400, param: 'stream' });
  });

  test('of a task that runs: nothing yet, then what comes; no number from the future', async () => {
    await using held = await startHeld();
    const { id } = (await held.uhp.create({ input: 'held', background: true })).body;
    const seen = await until(await held.uhp.attach(id), isDelta);
    const waiting = whole(held.uhp.attach(id, { after: seen.length - 1 }));
    expect(await held.uhp.send('GET', `/v1/responses/${id}?stream=true&starting_after=${seen.length}`)).toMatchObject({
      code: 'reins_cursor_out_of_range',
    });
    held.gate.open();
    expect((await waiting)[0]?.id).toBe(seen.length);
  });

  test('UD-19: of a POST with a cursor: nothing is started without a key, or with an unknown one', async () => {
    const asked = place.model.server.requests.length;
    const post = (headers: Record<string, string>) =>
      place.uhp.create({ input: 'one', stream: true }, { 'last-event-id': '3', ...headers });
    expect(await post({})).toMatchObject({ status: 400, code: 'reins_cursor_without_key' });
    expect(await post({ 'idempotency-key': 'never-seen' })).toMatchObject({
      status: 410,
      code: 'reins_event_log_expired',
    });
    expect(place.model.server.requests.length).toBe(asked);
  });

  test('of a response that is unknown or deleted', async () => {
    const { id } = (await place.uhp.create({ input: 'one' })).body;
    await place.uhp.send('DELETE', `/v1/responses/${id}`);
    for (const name of [id, 'resp_nosuch', 'nonsense'])
      expect(await get(`/v1/responses/${name}?stream=true&starting_after=1`)).toMatchObject({
        status: 404,
        code: 'response_not_found',
      });
  });

  test('UD-18, B055: of a log that is past its retention the answer says so, and the response stays readable', async () => {
    const clock = createManualClock(Date.now());
    await using model = await startModelServer('openai-chat', [reply(text('kept'))]);
    const env = { OPENAI_COMPATIBLE_BASE_URL: model.baseURL };
    await using server = await startServer({
      data: temporaryFolder(),
      env,
      clock,
      settings: { models: { default: 'openai-compatible/m' }, retention: { streamSeconds: 3_600 } },
    });
    const pending = server.uhp.create({ input: 'one' }, { 'idempotency-key': 'old' });
    const answer = await withTime(pending, clock, 10);
    await withTime(whole(server.uhp.attach(answer.body.id)), clock, 10);
    await clock.advance(2 * 3_600_000);
    expect(await server.uhp.send('GET', `/v1/responses/${answer.body.id}?stream=true`)).toMatchObject({
      status: 410,
      code: 'reins_event_log_expired',
      body: { error: { detail: { response_id: answer.body.id, status: 'completed' } } },
    });
    expect((await server.uhp.get(answer.body.id)).body).toEqual(answer.body);
  });
});

/** Lets time pass in steps while something real, such as a socket, is waited for. */
async function withTime<T>(pending: Promise<T>, clock: ManualClock, stepMs: number): Promise<T> {
  const waiting = Symbol('waiting');
  for (;;) {
    await clock.advance(stepMs);
    const settled = await Promise.race([pending, pause(1, waiting)]);
    if (settled !== waiting) return settled;
  }
}

describe('UT-13, B039: a client that goes stops nothing', () => {
  const isCallDone = ({ event }: SeenFrame) =>
    event.type === 'response.output_item.done' && event.item?.type === 'function_call';
  test.each([
    ['right after response.created', () => true],
    ['in mid-delta', isDelta],
    ['during a tool', isCallDone],
  ])('%s', async (_, moment) => {
    const seen = await until(await place.uhp.stream({ input: 'tour' }), moment);
    const id = seen[0]?.event.response?.id ?? '';
    const final = await ended(place.uhp, id);
    expect(final).toMatchObject({ status: 'completed' });
    expect(answerOf(final)).toBe('I will look.There is nothing.');
  });

  test('nor does a plain caller that gives up waiting', async () => {
    const abort = new AbortController();
    await using held = await startHeld();
    const waiting = fetch(`${held.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'gone' },
      body: JSON.stringify({ input: 'held' }),
      signal: abort.signal,
    });
    const stream = await held.uhp.attach(await idOfKey(held, 'gone'));
    abort.abort();
    await expect(waiting).rejects.toThrow();
    held.gate.open();
    expect(answerOf(finalOf(await Array.fromAsync(stream.frames)))).toBe('first second');
  });
});

/** The task of a key, as soon as it is there. */
async function idOfKey({ uhp, model }: HeldServer, name: string): Promise<string> {
  while (model.asked('held').length === 0) await pause(5);
  return (await uhp.create({ input: 'held', background: true }, { 'idempotency-key': name })).body.id;
}

test('UT-15, B020: blocking, streamed, in the background and replayed, one work gives one output', async () => {
  const { uhp } = place;
  const blocking = (await uhp.create({ input: 'tour' })).body;
  const frames = await whole(uhp.stream({ input: 'tour' }));
  const background = await ended(uhp, (await uhp.create({ input: 'tour', background: true })).body.id);
  const replayed = await whole(uhp.attach(blocking.id));
  // Ids are each task's own, those of its files too.
  const plain = (output: readonly Item[]): unknown =>
    JSON.parse(
      JSON.stringify(output.map(({ id: _id, ...item }) => item)).replaceAll(
        /"(?:file_|cntr_|http:)[^"]*"/g,
        '"its own"',
      ),
    );
  for (const same of [finalOf(frames), background, finalOf(replayed)])
    expect(plain(same.output)).toEqual(plain(blocking.output));
  expect(blocking.output.map(({ type }) => type)).toEqual([
    'reasoning',
    'message',
    'function_call',
    'function_call',
    'function_call_output',
    'function_call_output',
    'message',
  ]);
  expect(assembleOutput(frames)).toEqual(finalOf(frames).output);
  expect(assembleOutput(replayed)).toEqual(blocking.output);
  expect(blocking.usage).toMatchObject({ input_tokens: 14, output_tokens: 20, total_tokens: 34 });
});

test('UT-19, B029: a comment comes every 15 s from the headers on, and no number is spent on it', async () => {
  const clock = createManualClock(Date.now());
  await using model = await startModelServer('openai-chat', [{ fault: { kind: 'stall', after: 'nothing' } }]);
  const env = { OPENAI_COMPATIBLE_BASE_URL: model.baseURL };
  await using server = await startServer({
    data: temporaryFolder(),
    env,
    clock,
    settings: { models: { default: 'openai-compatible/m' } },
  });
  const response = await fetch(`${server.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'x', stream: true }),
  });
  let seen = '';
  const reading = (async () => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      seen += chunk;
      if (seen.split(': keep-alive').length > 4) return;
    }
  })();
  const startMs = clock.now();
  await withTime(reading, clock, 1_000);
  expect((clock.now() - startMs) / 1000).toBeLessThan(75);
  const numbers = [...seen.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number));
  expect(numbers).toEqual(numbers.map((_, index) => index));
});
