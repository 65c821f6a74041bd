// UT-39: the stream of a task from servers, and over networks, that do all they should not.

import { describe, expect, test } from 'vitest';
import { setTimeout as wait } from 'node:timers/promises';
import { connect, type ClientOptions, type Task, type TaskEvent } from '../src/client/index.ts';
import { createManualClock, type ManualClock } from '../src/testing/manual-clock.ts';
import {
  eventsOf,
  frame,
  frames,
  inTurn,
  json,
  open,
  refusal,
  replay,
  responseOf,
  startStub,
  stream,
  torn,
  type Answer,
} from './support/stub-uhp.ts';

const quick: ClientOptions = { backoffMs: 1, maxBackoffMs: 5, maxAttempts: 4 };
const events = eventsOf('Grüße ', 'an ', 'alle 😀');
const said = 'Grüße an alle 😀';
const terminal = events.at(-1) ?? {};

async function read(task: AsyncIterable<TaskEvent>): Promise<readonly TaskEvent[]> {
  const seen: TaskEvent[] = [];
  for await (const event of task) seen.push(event);
  return seen;
}

/** What a loop and the result give, with these answers to the POST and to each attachment. */
async function play(post: Answer, get: Answer = replay(events), options: ClientOptions = {}) {
  await using stub = await startStub({ 'POST /v1/responses': post, 'GET /v1/responses/resp_1': get });
  const task = connect(stub.url, 'key', { ...quick, ...options }).run({ input: 'x' });
  const seen = await read(task);
  return { seen, result: await task.result(), task, requests: stub.requests };
}

describe('U-442: however the bytes come', () => {
  const cutEverywhere: Answer = (response) => {
    open(response);
    for (const byte of Buffer.from(frames(events))) response.write(Uint8Array.of(byte));
    response.end();
  };
  test.each<[string, Answer]>([
    ['LF', stream(frames(events))],
    ['CR', stream(events.map((event) => frame(event, '\r')).join(''))],
    ['CRLF', stream(events.map((event) => frame(event, '\r\n')).join(''))],
    ['split at every byte', cutEverywhere],
    ['without the last blank line', stream(frames(events).trimEnd())],
    [
      'with a byte order mark and comments',
      stream('\uFEFF: hello\n\n', frames(events.slice(0, 3)), ':\n\n', frames(events.slice(3))),
    ],
    [
      'B011: with event lines, true and false',
      stream(events.map((event) => `event: x.other\n${frame(event)}`).join('')),
    ],
    [
      'with [DONE] and other data that is no object',
      stream('data: [DONE]\n\ndata: 7\n\ndata: "x"\n\ndata: {broken\n\n', frames(events)),
    ],
    [
      'data over several lines',
      stream(
        events.map((event) => `data: ${JSON.stringify(event, null, 1).replaceAll('\n', '\ndata: ')}\n\n`).join(''),
      ),
    ],
  ])('%s', async (_, post) => {
    const { seen, result, requests } = await play(post);
    expect(seen).toEqual(events);
    expect(result).toMatchObject({ status: 'completed', text: said });
    expect(requests).toHaveLength(1);
  });
});

describe('U-443: numbers decide', () => {
  test('a gap is closed by taking the stream up after the last good one', async () => {
    const { seen, requests } = await play(stream(frames([...events.slice(0, 4), ...events.slice(5)])));
    expect(seen).toEqual(events);
    expect(requests[1]?.query.get('starting_after')).toBe('3');
  });

  test('what was seen is dropped', async () => {
    const twice = events.flatMap((event, index) => [event, ...events.slice(0, index + 1)]);
    expect((await play(stream(frames(twice)))).seen).toEqual(events);
  });

  test("a gap that stays is the server's own: the stored response is the truth", async () => {
    const holed = events.filter((_, index) => index !== 4);
    const { seen, result } = await play(stream(frames(holed)), replay(holed));
    expect(seen.slice(0, 4)).toEqual(events.slice(0, 4));
    expect(seen.slice(4)).toEqual([{ type: 'response.completed', sequence_number: 4, response: responseOf('stored') }]);
    expect(result.text).toBe('stored');
  });
});

describe('B059: a stream that merely stops is no success', () => {
  test('cut after each event, in order and torn: the rest is fetched, each event once', async () => {
    for (const end of [stream, torn])
      for (const [index] of events.slice(0, -1).entries()) {
        const { seen, result, requests } = await play(end(frames(events.slice(0, index + 1))));
        expect(seen).toEqual(events);
        expect(result.text).toBe(said);
        expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
      }
  });

  test('cut at each byte of an event', async () => {
    const [before, cut] = [frames(events.slice(0, 5)), frame(events[5] ?? {})];
    for (let at = 0; at < cut.length; at += 3)
      expect((await play(torn(before + cut.slice(0, at)))).seen).toEqual(events);
  });

  test('before the response has a name, the request is sent again with its key', async () => {
    const post = inTurn(
      torn(''),
      refusal(503, 'harness_unavailable'),
      (response) => response.destroy(),
      stream(frames(events)),
    );
    const { seen, requests } = await play(post, undefined, { maxAttempts: 9 });
    expect(seen).toEqual(events);
    const posts = requests.filter(({ method }) => method === 'POST');
    expect(posts).toHaveLength(4);
    expect(new Set(posts.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
  });

  test('U-440: where the server names no such capability, a second POST would be a second task, so there is none', async () => {
    await using stub = await startStub({
      'POST /v1/responses': torn(''),
      'GET /v1/uhp': json({ object: 'uhp.discovery', capabilities: {} }),
    });
    const task = connect(stub.url, 'key', quick).run({ input: 'x' });
    await expect(read(task)).rejects.toMatchObject({ name: 'ConnectionError' });
    await expect(task.result()).rejects.toMatchObject({ name: 'ConnectionError' });
    await expect(task.responseId).rejects.toMatchObject({ name: 'ConnectionError' });
    expect(stub.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });

  test('it is given up after so many tries without news, and says which task goes on', async () => {
    await using stub = await startStub({
      'POST /v1/responses': stream(frames(events.slice(0, 2))),
      'GET /v1/responses/resp_1': stream(': nothing new\n\n'),
    });
    const task = connect(stub.url, 'key', quick).run({ input: 'x' });
    await expect(read(task)).rejects.toMatchObject({ name: 'ConnectionError' });
    expect(await task.responseId).toBe('resp_1');
    expect(stub.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET', 'GET']);
  });

  test('news begins the count of tries again', async () => {
    const one: Answer = (response, request, seen) => {
      const next = Number(request.query.get('starting_after') ?? -1) + 1;
      return (seen % 2 === 0 ? torn('') : torn(frame(events[next] ?? {})))(response, request, seen);
    };
    expect((await play(torn(frame(events[0] ?? {})), one, { maxAttempts: 3 })).seen).toEqual(events);
  });

  test('only `error` ends nothing; what fails without a reason has a code all the same', async () => {
    const error = { type: 'error', sequence_number: 1, code: 'x', message: 'Oh.', param: null };
    const failed = { type: 'response.failed', sequence_number: 2, response: responseOf('half', { status: 'failed' }) };
    const all = [events[0] ?? {}, error, failed];
    const { seen, result } = await play(stream(frames(all.slice(0, 2))), replay(all));
    expect(seen).toEqual(all);
    expect(result).toMatchObject({ status: 'failed', text: 'half', error: { code: 'harness_error' } });
  });
});

describe('U-447: the first terminal event is the end', () => {
  test('a second one, and what else comes after it, is not read', async () => {
    const failed = {
      type: 'response.failed',
      sequence_number: events.length,
      response: responseOf('', { status: 'failed' }),
    };
    const more = { ...events[4], sequence_number: events.length + 1 };
    const { seen, result } = await play(stream(frames([...events, terminal, failed, more])));
    expect(seen).toEqual(events);
    expect(result.status).toBe('completed');
  });

  test('U-314: the status decides, not the name of the event', async () => {
    const end = { type: 'response.failed', sequence_number: 1, response: responseOf('half', { status: 'cancelled' }) };
    const { result } = await play(stream(frames([...events.slice(0, 1), end])));
    expect(result).toMatchObject({ status: 'cancelled', text: 'half', error: null });
  });

  test('204: it was seen, and nothing is told twice', async () => {
    await using stub = await startStub({
      'GET /v1/responses/resp_1': (response, request, seen) =>
        request.query.has('stream')
          ? response.writeHead(204).end()
          : json(responseOf('stored'))(response, request, seen),
    });
    const task = connect(stub.url, 'key', quick).attach('resp_1', { after: 11 });
    expect(await read(task)).toEqual([]);
    expect((await task.result()).text).toBe('stored');
  });
});

test.each([
  ['410', refusal(410, 'reins_event_log_expired')],
  ['404', refusal(404, 'reins_route_not_found')],
  ['B052: a cursor that the server does not take', refusal(400, 'reins_cursor_out_of_range')],
  ['B057: an answer that is no stream', json(responseOf('', { status: 'in_progress' }))],
])('%s: the stored response is read, and told as the end', async (_, answer) => {
  const get: Answer = (response, request, seen) =>
    (request.query.has('stream') ? answer : json(responseOf('stored')))(response, request, seen);
  const { seen, result } = await play(torn(frames(events.slice(0, 6))), get);
  expect(seen.slice(0, 6)).toEqual(events.slice(0, 6));
  expect(seen.slice(6)).toEqual([{ type: 'response.completed', sequence_number: 6, response: responseOf('stored') }]);
  expect(result.text).toBe('stored');
});

test('a response that is gone is not found', async () => {
  await using stub = await startStub({});
  const task = connect(stub.url, 'key', quick).attach('resp_1');
  await expect(read(task)).rejects.toMatchObject({ name: 'NotFoundError', code: 'response_not_found' });
});

describe('U-440, B010: what is not known', () => {
  test('unknown types, fields and items are counted or kept, and lose nothing that is known', async () => {
    const item = { id: 'x_1', type: 'x_item', status: 'completed', payload: 7 };
    const response = { ...responseOf(said), output: [...responseOf(said).output, item], x_field: 1 };
    const odd = [
      ...events.slice(0, 4),
      { type: 'x.vendor.progress', step: 1 },
      { type: 'response.output_text.delta', delta: 7, output_index: 0 },
      ...events.slice(4, -1).map((event) => ({ ...event, x_field: { a: 1 } })),
      { type: 'response.output_item.added', output_index: 1, item },
      { type: 'response.completed', response },
    ].map((event, index) => ({ ...event, sequence_number: index }));
    const unknown: object[] = [];
    await using stub = await startStub({
      'POST /v1/responses': stream('event: x.vendor.progress\ndata: {"x":1}\n\n', frames(odd)),
    });
    const task = connect(stub.url, 'key', quick).run({ input: 'x' }, { onUnknown: (event) => unknown.push(event) });
    const seen = await read(task);
    expect(seen).toEqual(odd.filter((_, index) => index !== 4 && index !== 5));
    expect(unknown).toEqual([odd[4], odd[5]]);
    expect(task.unknownEvents).toBe(2);
    expect(await task.result()).toMatchObject({ text: said, response });
    expect(task.snapshot().output).toEqual(response.output);
  });
});

describe('B054: two ways to resume', () => {
  test('raw: cut at 0, in mid-item, before and after the end, only what is missing comes', async () => {
    await using stub = await startStub({ 'GET /v1/responses/resp_1': replay(events) });
    const client = connect(stub.url, 'key', quick);
    for (const after of [-1, 0, 5, events.length - 2])
      expect(await read(client.attach('resp_1', { after }))).toEqual(events.slice(after + 1));
  });

  test('accumulating: from any cut on, the object is whole', async () => {
    await using stub = await startStub({ 'GET /v1/responses/resp_1': replay(events) });
    const client = connect(stub.url, 'key', quick);
    for (const [at] of events.slice(0, -1).entries()) {
      const first = client.attach('resp_1');
      let left = 0;
      for await (const _ of first) if (left++ === at) break;
      const second = client.attach('resp_1', { from: first.snapshot() });
      for await (const event of second) {
        const growing = events
          .slice(4, event.sequence_number + 1)
          .flatMap((seen) => ('delta' in seen ? [seen.delta] : []));
        expect(second.snapshot().text).toBe(growing.join(''));
      }
      expect(second.snapshot()).toMatchObject({ status: 'completed', output: responseOf(said).output });
    }
  });

  test('leaving a loop and beginning another goes on after the event that was seen', async () => {
    await using stub = await startStub({
      'POST /v1/responses': stream(frames(events)),
      'GET /v1/responses/resp_1': replay(events),
    });
    const task = connect(stub.url, 'key', quick).run({ input: 'x' });
    const seen: TaskEvent[] = [];
    for (let n = 0; n < events.length; n++)
      for await (const event of task) {
        seen.push(event);
        break;
      }
    expect(seen).toEqual(events);
    expect(await read(task)).toEqual([]);
    expect((await task.result()).text).toBe(said);
    expect(stub.requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

test('UD-22, U-444: an item that is added at a held index takes its place, and late pieces of the old one are not its', async () => {
  const message = (id: string) => ({ id, type: 'message', role: 'assistant', status: 'in_progress', content: [] });
  const delta = (id: string, text: string) => ({
    type: 'response.output_text.delta',
    item_id: id,
    output_index: 0,
    content_index: 0,
    delta: text,
  });
  const all = [
    { type: 'response.created', response: responseOf('', { status: 'in_progress' }) },
    { type: 'response.output_item.added', output_index: 0, item: message('a') },
    delta('a', 'wrong'),
    { type: 'response.output_item.added', output_index: 0, item: message('b') },
    delta('a', 'late'),
    delta('b', 'right'),
    { type: 'response.completed', response: responseOf('right') },
  ].map((event, index) => ({ ...event, sequence_number: index }));
  await using stub = await startStub({ 'POST /v1/responses': stream(frames(all)) });
  const task = connect(stub.url, 'key', quick).run({ input: 'x' });
  const texts: string[] = [];
  for await (const _ of task) texts.push(task.snapshot().text);
  expect(texts).toEqual(['', '', 'wrong', '', '', 'right', 'right']);
});

describe('U-446: silence', () => {
  /** Lets time pass in steps while something real is waited for. */
  async function withTime<T>(pending: Promise<T>, clock: ManualClock, stepMs: number): Promise<T> {
    const waiting = Symbol('waiting');
    for (;;) {
      const settled = await Promise.race([pending, wait(2, waiting)]);
      if (settled !== waiting) return settled;
      await clock.advance(stepMs);
    }
  }
  const silent: Answer = (response) => open(response);

  test('B034: where nothing ever comes through, the response is asked for until it is there', async () => {
    const clock = createManualClock();
    const states = [{ status: 'in_progress' }, { status: 'in_progress' }, {}];
    await using stub = await startStub({
      'POST /v1/responses': (response, request, seen) =>
        (request.body.includes('"stream":true') ? silent : json(responseOf('', { status: 'in_progress' })))(
          response,
          request,
          seen,
        ),
      'GET /v1/responses/resp_1': inTurn(...states.map((state) => json(responseOf('held back', state)))),
    });
    const task = connect(stub.url, 'key', { ...quick, clock }).run({ input: 'x' });
    const startMs = clock.now();
    const seen = await withTime(read(task), clock, 5_000);
    expect(seen).toMatchObject([{ type: 'response.completed', sequence_number: 0 }]);
    expect((await task.result()).text).toBe('held back');
    expect(clock.now() - startMs).toBeGreaterThanOrEqual(90_000);
    const posts = stub.requests.filter(({ method }) => method === 'POST');
    expect(posts.map(({ body }) => JSON.parse(body) as object)).toEqual([
      { input: 'x', stream: true },
      { input: 'x', stream: true },
      { input: 'x', stream: false, background: true },
    ]);
    expect(new Set(posts.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(clock.pending).toBe(0);
  });

  test('a way that swallows every other connection, and drops those between, ends with the rest or with an error', async () => {
    const clock = createManualClock();
    const dropped: Answer = (response) => response.destroy();
    await using stub = await startStub({
      'POST /v1/responses': torn(frames(events.slice(0, 3))),
      'GET /v1/responses/resp_1': (response, request, seen) =>
        (request.query.has('stream') ? (seen % 2 === 0 ? silent : dropped) : json(responseOf('stored')))(
          response,
          request,
          seen,
        ),
    });
    const task = connect(stub.url, 'key', { ...quick, maxAttempts: 9, clock }).run({ input: 'x' });
    const seen = await withTime(read(task), clock, 5_000);
    expect(seen.slice(0, 3)).toEqual(events.slice(0, 3));
    expect((await task.result()).text).toBe('stored');
    // One sign of life, then nothing, again and again: no news, so the tries are counted.
    await using other = await startStub({
      'GET /v1/responses/resp_1': (response) => {
        open(response);
        response.write(': hello\n\n');
      },
    });
    const lost = read(connect(other.url, 'key', { ...quick, clock }).attach('resp_1')).catch((error: unknown) => error);
    expect(await withTime(lost, clock, 5_000)).toMatchObject({ name: 'TimeoutError' });
    expect(other.requests).toHaveLength(4);
  });

  test('B035: a stream of comments is alive', async () => {
    const clock = createManualClock();
    await using stub = await startStub({
      'POST /v1/responses': (response) => {
        open(response);
        response.write(frame(events[0] ?? {}));
        let comments = 0;
        const comment = () => {
          response.write(': keep-alive\n\n');
          if (++comments < 8) clock.timer(15_000, comment);
          else response.end(frames(events.slice(1)));
        };
        clock.timer(15_000, comment);
      },
    });
    const task = connect(stub.url, 'key', { ...quick, clock }).run({ input: 'x' });
    expect(await withTime(read(task), clock, 1_000)).toEqual(events);
    expect(stub.requests).toHaveLength(1);
  });

  test('B036: a half-open connection is dead after 45 s, and the rest comes over another one', async () => {
    const clock = createManualClock();
    await using stub = await startStub({
      'POST /v1/responses': (response) => {
        open(response);
        response.write(frames(events.slice(0, 6)));
      },
      'GET /v1/responses/resp_1': replay(events),
    });
    const task = connect(stub.url, 'key', { ...quick, clock }).run({ input: 'x' });
    const startMs = clock.now();
    expect(await withTime(read(task), clock, 1_000)).toEqual(events);
    expect(clock.now() - startMs).toBeGreaterThanOrEqual(45_000);
    expect(clock.now() - startMs).toBeLessThan(60_000);
  });
});

describe('B102: giving up ends the reading and nothing else', () => {
  async function held(work: (task: Task, abort: AbortController) => Promise<void>): Promise<void> {
    await using stub = await startStub({
      'POST /v1/responses': (response) => {
        open(response);
        response.write(frames(events.slice(0, 6)));
      },
    });
    const abort = new AbortController();
    const task = connect(stub.url, 'key', quick).run({ input: 'x' }, { signal: abort.signal });
    await work(task, abort);
    expect(stub.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /v1/responses']);
  }
  const settledSoon = async (task: Task) => {
    const since = performance.now();
    await expect(task.result()).rejects.toMatchObject({ name: 'AbortError' });
    expect(performance.now() - since).toBeLessThan(100);
  };

  test('with for await', () =>
    held(async (task, abort) => {
      const seen: TaskEvent[] = [];
      for await (const event of task) {
        seen.push(event);
        if (seen.length === 6) setImmediate(() => abort.abort());
      }
      expect(seen).toHaveLength(6);
      await settledSoon(task);
      expect(await read(task)).toEqual([]);
    }));

  test('with a reader, one read open and none open', () =>
    held(async (task, abort) => {
      const reader = task.stream().getReader();
      for (let n = 0; n < 6; n++) expect((await reader.read()).done).toBe(false);
      const open_ = reader.read();
      setImmediate(() => abort.abort());
      expect((await open_).done).toBe(true);
      await settledSoon(task);
    }));

  test('after tee, and while nobody reads', () =>
    held(async (task, abort) => {
      const [a, b] = task.stream().tee();
      const readers = [a.getReader(), b.getReader()];
      for (const reader of readers) expect((await reader.read()).value).toEqual(events[0]);
      abort.abort();
      await settledSoon(task);
      for (const reader of readers)
        for (let next = await reader.read(); !next.done; next = await reader.read()) expect(next.value).toBeDefined();
    }));

  test('cancelling a stream closes the connection at once, also while a read is open', async () => {
    let closed = () => {};
    const gone = new Promise<void>((resolve) => (closed = resolve));
    await using stub = await startStub({
      'POST /v1/responses': (response) => {
        response.once('close', closed);
        open(response);
        response.write(frames(events.slice(0, 1)));
      },
      'GET /v1/responses/resp_1': replay(events),
    });
    const task = connect(stub.url, 'key', quick).run({ input: 'x' });
    const reader = task.stream().getReader();
    await reader.read();
    const waiting = reader.read();
    await reader.cancel();
    await gone;
    expect((await waiting).done).toBe(true);
    // The task itself can still be read.
    expect((await task.result()).text).toBe(said);
  });

  test('before anything came', async () => {
    await using stub = await startStub({ 'POST /v1/responses': () => {} });
    const abort = new AbortController();
    const task = connect(stub.url, 'key', quick).run({ input: 'x' }, { signal: abort.signal });
    setTimeout(() => abort.abort(), 20);
    expect(await read(task)).toEqual([]);
    await settledSoon(task);
    await expect(task.responseId).rejects.toMatchObject({ name: 'AbortError' });
  });
});

test('thousands of events in few chunks are each read once; a result beside a loop waits for it', async () => {
  const many = eventsOf(...Array.from({ length: 2_000 }, (_, n) => `${n} `));
  const { seen, result } = await play(stream(frames(many)));
  expect(seen).toHaveLength(many.length);
  expect(result.text).toContain('1999');
  await using stub = await startStub({ 'POST /v1/responses': stream(frames(events)) });
  const task = connect(stub.url, 'key', quick).run({ input: 'x' });
  const [loop, beside] = await Promise.all([read(task), task.result()]);
  expect(loop).toEqual(events);
  expect(beside.text).toBe(said);
});
