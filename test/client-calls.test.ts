// Single requests of the client: what is tried again and what is not, what is checked, and what goes over the wire.

import { describe, expect, test } from 'vitest';
import { connect, UhpError, type Client, type ClientOptions, type FeedEvent } from '../src/client/index.ts';
import { createManualClock } from '../src/testing/manual-clock.ts';
import { setTimeout as wait } from 'node:timers/promises';
import {
  eventsOf,
  frame,
  frames,
  inTurn,
  json,
  open,
  refusal,
  responseOf,
  startStub,
  stream,
  torn,
  type Answer,
  type StubUhp,
} from './support/stub-uhp.ts';

const quick: ClientOptions = { backoffMs: 1, maxBackoffMs: 5, maxAttempts: 4 };
const events = eventsOf('done');
const created: Answer = stream(frames(events));

async function withStub(
  answers: Readonly<Record<string, Answer>>,
  work: (client: Client, stub: StubUhp) => Promise<void>,
  options: ClientOptions = {},
): Promise<void> {
  await using stub = await startStub(answers);
  await work(connect(stub.url, 'secret', { ...quick, ...options }), stub);
}

describe('U-057: what is tried again', () => {
  const gone: Answer = (response) => response.destroy();
  test.each<[string, Answer, number]>([
    ['a network fault', gone, 4],
    ['a server error', refusal(500, 'reins_internal'), 4],
    ['a gateway that knows no envelope', (response) => response.writeHead(502).end('<html>'), 4],
    ['rate_limited', refusal(429, 'rate_limited'), 4],
    ['quota_exhausted', refusal(429, 'quota_exhausted'), 1],
    ['501', refusal(501, 'preview_unavailable'), 1],
    ['session_busy', refusal(409, 'session_busy'), 1],
    ['a wrong request', refusal(400, 'invalid_input'), 1],
    ['what is not there', refusal(404, 'response_not_found'), 1],
  ])('%s', async (_, answer, tries) => {
    await withStub({ 'GET /v1/responses/r': answer }, async (client, stub) => {
      await expect(client.responses.get('r')).rejects.toBeInstanceOf(UhpError);
      expect(stub.requests).toHaveLength(tries);
    });
    await withStub({ 'POST /v1/responses': answer }, async (client, stub) => {
      await expect(client.collect({ input: 'x' })).rejects.toBeInstanceOf(UhpError);
      const posts = stub.requests.filter(({ method }) => method === 'POST');
      expect(posts).toHaveLength(tries);
      expect(new Set(posts.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    });
  });

  test('a write that is not safe to repeat is repeated only where it was refused', async () => {
    await withStub({ 'POST /v1/harnesses': gone }, async (client, stub) => {
      await expect(client.harnesses.create({ base: 'native' })).rejects.toMatchObject({ name: 'ConnectionError' });
      expect(stub.requests).toHaveLength(1);
    });
    const answers = inTurn(refusal(429, 'rate_limited'), json({ id: 'chrn_1' }));
    await withStub({ 'POST /v1/harnesses': answers }, async (client) => {
      expect(await client.harnesses.create({ base: 'native' })).toEqual({ id: 'chrn_1' });
    });
  });

  test('rate_limited waits as long as Retry-After says, for a task as well', async () => {
    const clock = createManualClock();
    const late = inTurn(refusal(429, 'rate_limited', {}, { 'Retry-After': '7' }), created);
    await withStub(
      { 'POST /v1/responses': late },
      async (client, stub) => {
        const done = client.collect({ input: 'x' });
        while (clock.pending === 0 || stub.requests.length === 0) await wait(2);
        await wait(20);
        await clock.advance(6_900);
        expect(stub.requests).toHaveLength(1);
        await clock.advance(200);
        expect((await done).text).toBe('done');
      },
      { clock },
    );
  });

  test('backoff doubles, half of it by chance, up to its cap', async () => {
    const waits: number[] = [];
    const clock = {
      now: () => 0,
      timer(ms: number, callback: () => void) {
        if (ms === 60_000) return () => {};
        waits.push(ms);
        setImmediate(callback);
        return () => {};
      },
    };
    const random = { fraction: () => 0, token: () => 'key' };
    await withStub(
      { 'GET /v1/models': refusal(500, 'x') },
      async (client) => {
        await expect(client.models()).rejects.toMatchObject({ name: 'ServerError' });
        expect(waits).toEqual([50, 100, 200, 250, 250]);
      },
      { clock, random, backoffMs: 100, maxBackoffMs: 500, maxAttempts: 6 },
    );
  });
});

describe('what is checked', () => {
  test('U-445: the version is sent, and an answer in another one is not read', async () => {
    const answers = {
      'GET /v1/models': json({ backends: {} }, { headers: { 'UHP-Version': '2026-08-11' } }),
      'GET /v1/harnesses': json({ harnesses: [] }, { headers: { 'UHP-Version': '2027-01-01' } }),
    };
    await withStub(answers, async (client, stub) => {
      expect(await client.models()).toEqual({ backends: {} });
      expect(stub.requests[0]?.headers).toMatchObject({ 'uhp-version': '2026-08-11', authorization: 'Bearer secret' });
      await expect(client.harnesses.list()).rejects.toMatchObject({ name: 'ProtocolError' });
    });
  });

  test('UD-11: a key that belongs to another request is an error, not the other result', async () => {
    const other: Answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'Reins-Idempotency-Mismatch': 'true' });
      response.end(frames(events));
    };
    await withStub({ 'POST /v1/responses': other }, async (client, stub) => {
      const task = client.run({ input: 'x' }, { idempotencyKey: 'mine' });
      await expect(task.result()).rejects.toMatchObject({ name: 'IdempotencyMismatchError' });
      expect(stub.requests).toHaveLength(1);
      expect(stub.requests[0]?.headers['idempotency-key']).toBe('mine');
    });
  });

  test('a redirect is not followed: the key would travel along', async () => {
    await using elsewhere = await startStub({ 'GET /v1/models': json({ backends: {} }) });
    const moved: Answer = (response) => response.writeHead(302, { location: `${elsewhere.url}/v1/models` }).end();
    await withStub({ 'GET /v1/models': moved }, async (client) => {
      await expect(client.models()).rejects.toMatchObject({ name: 'ConnectionError' });
      expect(elsewhere.requests).toEqual([]);
    });
  });

  test('an answer that is no JSON is no answer; one that breaks off is asked for again', async () => {
    await withStub({ 'GET /v1/models': (response) => response.end('<html>') }, async (client) => {
      await expect(client.models()).rejects.toMatchObject({ name: 'ProtocolError' });
    });
    const half: Answer = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"backends', () => response.destroy());
    };
    await withStub({ 'GET /v1/models': inTurn(half, json({ backends: {} })) }, async (client) => {
      expect(await client.models()).toEqual({ backends: {} });
    });
  });

  test('U-032: a capability that is not named is false', async () => {
    await withStub({ 'GET /v1/uhp': json({ capabilities: { streaming: true, x_new: true } }) }, async (client) => {
      const { capabilities } = await client.probe();
      expect(capabilities).toMatchObject({ streaming: true, idempotency: false, reins_queue: false, x_new: true });
    });
  });

  test('an id cannot break out of its path', async () => {
    await withStub({}, async (client, stub) => {
      await client.responses.get('../files?x=1#y').catch(() => undefined);
      expect(stub.requests[0]?.path).toBe('/v1/responses/..%2Ffiles%3Fx%3D1%23y');
    });
  });
});

describe('how long it is waited', () => {
  test('an answer that does not come is given up, tried again, and told as such', async () => {
    const clock = createManualClock();
    await withStub(
      { 'GET /v1/models': () => {} },
      async (client, stub) => {
        const failed = client.models().catch((error: unknown) => error);
        for (let tries = 1; tries <= 4; tries++) {
          while (stub.requests.length < tries) await Promise.all([wait(2), tries > 1 && clock.advance(10)]);
          await clock.advance(60_000);
        }
        expect(await failed).toMatchObject({ name: 'TimeoutError' });
        expect(clock.pending).toBe(0);
      },
      { clock },
    );
  });

  test('a signal ends the waiting at once, with its own reason', async () => {
    await withStub({ 'GET /v1/models': () => {}, 'GET /v1/harnesses': refusal(500, 'x') }, async (client) => {
      const abort = new AbortController();
      const pending = client.models({ signal: abort.signal });
      setTimeout(() => abort.abort(new Error('enough')), 10);
      await expect(pending).rejects.toThrow('enough');
      await expect(client.harnesses.list({ signal: abort.signal })).rejects.toThrow('enough');
    });
  });
});

describe('what goes over the wire', () => {
  test('sessions.all walks all pages, and asks for no more than it is read', async () => {
    const page = (ids: readonly string[], next_cursor: string | null) =>
      json({ sessions: ids.map((id) => ({ id })), next_cursor });
    const answers = { 'GET /v1/sessions': inTurn(page(['a', 'b'], 'c1'), page(['c'], 'c2'), page([], null)) };
    await withStub(answers, async (client, stub) => {
      const ids: string[] = [];
      for await (const session of client.sessions.all({ harness: 'chrn_1', limit: 2 })) {
        ids.push(session.id);
        if (ids.length === 2) expect(stub.requests).toHaveLength(1);
      }
      expect(ids).toEqual(['a', 'b', 'c']);
      expect(stub.requests.map(({ query }) => query.get('cursor'))).toEqual([null, 'c1', 'c2']);
      expect(stub.requests.every(({ query }) => query.get('harness') === 'chrn_1')).toBe(true);
    });
  });

  test('an upload is a form with the bytes and the name; a part of a file is asked for as a range', async () => {
    const answers: Record<string, Answer> = {
      'POST /v1/files': json({ id: 'file_1' }),
      'GET /v1/containers/cntr_1/files/file_1/content': (response) => response.writeHead(206).end('ell'),
    };
    await withStub(answers, async (client, stub) => {
      const progress: object[] = [];
      const file = new Blob(['hello 😀']);
      const onProgress = (now: object) => progress.push(now);
      expect((await client.files.upload(file, { filename: 'ü.txt', onProgress })).id).toBe('file_1');
      expect(progress).toEqual([
        { loaded: 0, total: 10 },
        { loaded: 10, total: 10 },
      ]);
      expect(stub.requests[0]?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
      expect(stub.requests[0]?.body).toContain('name="file"; filename="ü.txt"');
      const part = await client.files.content('cntr_1', 'file_1', { range: { start: 1, end: 3 } });
      expect(await part.text()).toBe('ell');
      expect(stub.requests[1]?.headers['range']).toBe('bytes=1-3');
    });
  });

  test('a message has an id of its own, so that a try too much does no harm', async () => {
    const twice = inTurn((response) => response.destroy(), json({ id: 'm' }));
    await withStub({ 'POST /v1/reins/responses/r/steer': twice }, async (client, stub) => {
      await client.steer('r', 'faster');
      const bodies = stub.requests.map(({ body }) => JSON.parse(body) as { input: string; message_id: string });
      expect(bodies).toHaveLength(2);
      expect(bodies[0]?.message_id).toMatch(/^[0-9a-f]{32}$/);
      expect(bodies[1]).toEqual(bodies[0]);
    });
  });

  test('without a key there is no credential; an address may have a path of its own', async () => {
    await using stub = await startStub({ 'GET /base/v1/models': json({ backends: {} }) });
    await connect(`${stub.url}/base//`, null, { headers: { 'X-Tenant': 't' } }).models();
    expect(stub.requests[0]?.headers.authorization).toBeUndefined();
    expect(stub.requests[0]?.headers['x-tenant']).toBe('t');
  });
});

test('B060: what a task has not completed is not parsed', async () => {
  const end = {
    type: 'response.incomplete',
    sequence_number: 0,
    response: responseOf('{"a": [1,', { status: 'incomplete' }),
  };
  await withStub({ 'POST /v1/responses': stream(frame(end)) }, async (client) => {
    const result = await client.collect({ input: 'x' });
    expect(result.status).toBe('incomplete');
    expect(() => result.json()).toThrow(expect.objectContaining({ name: 'NotCompletedError', code: 'incomplete' }));
  });
});

test('UD-79: a feed goes on after a loss, and says that there was one', async () => {
  const of = (event: object) => ({ ...event, response_id: 'resp_1', session_id: 'hsess1' });
  const feed = inTurn(torn(frame(of(events[0] ?? {})), frame(events[1] ?? {})), refusal(503, 'x'), (response) => {
    open(response);
    response.write(`: open\n\n${frame(of(events[2] ?? {}))}`);
  });
  await withStub({ 'GET /v1/harnesses/chrn_1/events': feed }, async (client) => {
    const [seen, abort]: [FeedEvent[], AbortController] = [[], new AbortController()];
    let losses = 0;
    for await (const event of client.harnesses.feed('chrn_1', { signal: abort.signal, onReconnect: () => losses++ })) {
      seen.push(event);
      if (seen.length === 2) setTimeout(() => abort.abort(), 5);
    }
    expect(seen).toEqual([of(events[0] ?? {}), of(events[2] ?? {})]);
    expect(losses).toBe(1);
  });
  await withStub({}, async (client) => {
    await expect(client.harnesses.feed('chrn_none').next()).rejects.toMatchObject({ name: 'NotFoundError' });
  });
});
