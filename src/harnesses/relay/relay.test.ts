import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, type AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createLogger } from '../../logger.ts';
import { initialRunState } from '../../core/run-state.ts';
import { runIds, sessionIds } from '../../core/ids.ts';
import { createManualClock } from '../../testing/manual-clock.ts';
import { namedFrame } from '../../testing/model-servers/wire-protocol.ts';
import { createRunMeter, noLeaseBudget } from './run-meter.ts';
import { openRelay, type Relay } from './relay.ts';
import { simpleText } from '../../testing/model-servers/reply-script.ts';
import { startModelServer, type ModelServerProtocol } from '../../testing/model-servers/model-server.ts';
import { systemRandom } from '../../system.ts';
import type { Lease, LeaseOptions } from './lease.ts';
import type { RelayFact } from './relay-fact.ts';
import type { RelayProvider } from './routes.ts';
import type { ReplyFault } from '../../testing/model-servers/reply-script.ts';

const canary = 'sk-canary-0123456789abcdef';
const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]();
});

interface Rig {
  readonly relay: Relay;
  readonly clock: ReturnType<typeof createManualClock>;
  readonly facts: RelayFact[];
  readonly log: string[];
  lease(options?: Partial<LeaseOptions>): Lease;
}

async function rigFor(
  baseURL: string,
  provider: RelayProvider = 'anthropic',
  apiKey: string | null = canary,
): Promise<Rig> {
  const [facts, log]: [RelayFact[], string[]] = [[], []];
  const clock = createManualClock();
  const logger = createLogger({ out: { write: (line) => log.push(line) } });
  const relay = await openRelay({
    upstreams: { [provider]: { baseURL, apiKey } },
    clock,
    random: systemRandom,
    logger,
  });
  opened.push(relay);
  return {
    relay,
    clock,
    facts,
    log,
    lease: (options) => relay.lease({ provider, models: null, onFact: (fact) => facts.push(fact), ...options }),
  };
}

interface Received {
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** An upstream whose every byte the test writes. */
async function upstream(answer: (response: ServerResponse, received: Received, index: number) => void) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const take = async () => {
      const body = await buffer(request);
      const each = { url: request.url ?? '', headers: request.headers, body };
      received.push(each);
      answer(response, each, received.length - 1);
    };
    take().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push({
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return { baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, received };
}

const started = () => initialRunState(runIds.make('1'), sessionIds.make('1'));
const events = { 'content-type': 'text/event-stream' };
const json = { 'content-type': 'application/json' };
const wholeReply = [
  namedFrame('message_start', { message: { model: 'm-1', usage: { input_tokens: 2, output_tokens: 1 } } }),
  namedFrame('content_block_delta', { delta: { text: 'Grüße 🙂' } }),
  namedFrame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
  namedFrame('message_stop'),
].join('');

const ask = (
  rig: Rig,
  lease: Lease,
  o: { path?: string; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal } = {},
) =>
  fetch(`${rig.relay.url}${o.path ?? '/v1/messages'}`, {
    method: 'POST',
    headers: { 'x-api-key': lease.token, ...o.headers },
    body: JSON.stringify(o.body ?? { model: 'm', stream: true }),
    ...(o.signal === undefined ? {} : { signal: o.signal }),
  });

const endOf = (rig: Rig) => rig.facts.find((fact) => fact.at === 'ended');
const ended = (rig: Rig) => vi.waitFor(() => expect(endOf(rig)).toBeDefined());

/** What came before a connection broke; `broken` false: it ended well. */
async function readUntilBroken(response: Response) {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of response.body ?? []) chunks.push(chunk);
    return { broken: false, text: Buffer.concat(chunks).toString() };
  } catch {
    return { broken: true, text: Buffer.concat(chunks).toString() };
  }
}

describe('what passes', () => {
  test('H-202: bodies arrive as the bytes they were, both ways, however they are cut', async () => {
    let [sent, cuts]: [Buffer, number[]] = [Buffer.alloc(0), []];
    const { baseURL, received } = await upstream(async (response) => {
      response.writeHead(200, events);
      const at = [0, ...cuts, sent.length];
      for (const [index, start] of at.slice(0, -1).entries()) {
        response.write(sent.subarray(start, at[index + 1]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const rig = await rigFor(baseURL);
    const lease = rig.lease();
    const noise = fc.uint8Array({ maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(
        noise,
        fc.uniqueArray(fc.nat(250), { maxLength: 8 }),
        fc.string({ unit: 'binary' }),
        async (bytes, at, prompt) => {
          sent = Buffer.concat([bytes, Buffer.from(`\n\n${wholeReply}`)]);
          cuts = at.toSorted((a, b) => a - b);
          const body = `{ "model":"m",\n"stream" : true, "x": ${JSON.stringify(prompt)}}`;
          const headers = { 'x-api-key': lease.token };
          const response = await fetch(`${rig.relay.url}/v1/messages`, { method: 'POST', headers, body });
          expect(Buffer.from(await response.arrayBuffer()).equals(sent)).toBe(true);
          expect(received.at(-1)?.body.equals(Buffer.from(body))).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('H-202: half an event is not held back', async () => {
    let go: () => void = () => undefined;
    const { baseURL } = await upstream((response) => {
      response.writeHead(200, events).write(wholeReply.slice(0, 10));
      go = () => response.end(wholeReply.slice(10));
    });
    const rig = await rigFor(baseURL);
    const reader = (await ask(rig, rig.lease())).body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(wholeReply.slice(0, 10));
    go();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe(wholeReply.slice(10));
  });

  test('H-202: a runtime that does not read holds its provider up, and gets everything in the end', async () => {
    const piece = Buffer.alloc(256 * 1024, 'x');
    let written = 0;
    const { baseURL } = await upstream(async (response) => {
      response.writeHead(200, json);
      for (; written < 300; written++) if (!response.write(piece)) await once(response, 'drain');
      response.end();
    });
    const rig = await rigFor(baseURL);
    const response = await ask(rig, rig.lease(), { body: { model: 'm' } });
    let before = -1;
    while (before !== written) {
      before = written;
      await pause(150);
    }
    expect(written).toBeLessThan(200);
    expect((await response.arrayBuffer()).byteLength).toBe(300 * piece.length);
  });

  test('H-201: the provider gets its key and no lease, the runtime a reply and no key', async () => {
    const { baseURL, received } = await upstream((response) => {
      response.writeHead(200, { ...events, 'x-echo': `key ${canary}`, 'set-cookie': 'a=b', 'request-id': 'r1' });
      response.end(wholeReply);
    });
    const rig = await rigFor(baseURL);
    const lease = rig.lease();
    const headers = {
      authorization: `Bearer ${lease.token}`,
      'x-goog-api-key': 'other',
      cookie: 'c=d',
      'x-note': `my ${lease.token}`,
      'anthropic-beta': 'b1',
      'accept-encoding': 'gzip',
    };
    const response = await ask(rig, lease, {
      path: `/v1/messages?beta=true&key=${lease.token}&z=${lease.token}`,
      headers,
    });
    await response.text();
    const [got] = received;
    expect(got?.headers).toMatchObject({ 'x-api-key': canary, 'anthropic-beta': 'b1', 'accept-encoding': 'identity' });
    expect(JSON.stringify([got?.headers, got?.url])).not.toContain(lease.token);
    expect(Object.keys(got?.headers ?? {})).not.toEqual(expect.arrayContaining(['cookie']));
    expect(got?.headers['x-goog-api-key']).toBeUndefined();
    expect(JSON.stringify([...response.headers])).not.toContain(canary);
    expect(response.headers.get('request-id')).toBe('r1');
    expect(response.headers.get('set-cookie')).toBeNull();
  });

  test.each([
    ['anthropic', '/v1/messages?beta=true', '/v1/messages?beta=true', 'x-api-key'],
    ['openai', '/v1/responses', '/v1/responses', 'authorization'],
    ['openai-compatible', '/v1/chat/completions', '/v1/chat/completions', 'authorization'],
    ['google', '/v1beta/models/g-1:generateContent', '/v1/models/g-1:generateContent', 'x-goog-api-key'],
  ] as const)('H-201: %s %s goes below the base address', async (provider, path, target, credential) => {
    const { baseURL, received } = await upstream((response) => response.writeHead(200, json).end('{}'));
    const rig = await rigFor(`${baseURL}/`, provider);
    expect((await ask(rig, rig.lease(), { path, body: { model: 'm' } })).status).toBe(200);
    expect(received[0]?.url).toBe(target);
    expect(String(received[0]?.headers[credential])).toContain(canary);
  });
});

describe('many and large', () => {
  test('H-202: a request and a reply of several megabytes arrive as they are, and are understood', async () => {
    const long = 'Grüße 🙂 '.repeat(250_000);
    const { baseURL, received } = await upstream((response) => {
      response.writeHead(200, events);
      response.end(`${namedFrame('content_block_delta', { delta: { text: long } })}${wholeReply}`);
    });
    const rig = await rigFor(baseURL);
    const body = { model: 'm', stream: true, tools: [{}, {}], messages: [{ role: 'user', content: long }] };
    const response = await ask(rig, rig.lease(), { body });
    expect((await response.text()).length).toBeGreaterThan(long.length);
    expect(received[0]?.body.equals(Buffer.from(JSON.stringify(body)))).toBe(true);
    expect(rig.facts[0]).toMatchObject({ at: 'asked', model: 'm', tools: 2 });
    expect(endOf(rig)).toMatchObject({ how: 'whole' });
  });

  test('H-203: fifty streams at once, cut anywhere, are fifty calls with the facts of each apart', async () => {
    const { baseURL } = await upstream(async (response, { body }) => {
      const { model } = JSON.parse(body.toString());
      const reply = wholeReply.replace('m-1', model).replace('"output_tokens":5', `"output_tokens":${model}`);
      response.writeHead(200, events);
      for (let at = 0; at < reply.length; at += 17) {
        response.write(reply.slice(at, at + 17));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const rig = await rigFor(baseURL);
    const lease = rig.lease();
    const models = Array.from({ length: 50 }, (_, index) => String(100 + index));
    const replies = models.map(async (model) => (await ask(rig, lease, { body: { model, stream: true } })).text());
    for (const [index, text] of (await Promise.all(replies)).entries()) expect(text).toContain(`"${models[index]}"`);
    await vi.waitFor(() => expect(rig.facts.filter(({ at }) => at === 'ended')).toHaveLength(50));
    const modelOf = new Map(rig.facts.flatMap((fact) => (fact.at === 'asked' ? [[fact.request, fact.model]] : [])));
    expect(new Set(modelOf.values())).toEqual(new Set(models));
    for (const fact of rig.facts) {
      if (fact.at === 'served') expect(fact.model).toBe(modelOf.get(fact.request));
      if (fact.at === 'usage') expect(fact.usage.outputTokens).toBe(Number(modelOf.get(fact.request)));
    }
    expect(lease.open).toBe(0);
  });

  /** The quickest of a few: others wait for whatever else this machine does. */
  async function quickest(run: () => Promise<number>): Promise<number> {
    const times: number[] = [];
    for (let round = 0; round < 5; round++) times.push(await run());
    return Math.min(...times);
  }

  test('H-202: either side that goes takes the other with it within 100 ms', async () => {
    const gone: ((atMs: number) => void)[] = [];
    const { baseURL } = await upstream((response) => {
      response.once('close', () => gone.shift()?.(performance.now()));
      response.writeHead(200, events).write(wholeReply.slice(0, 60));
      cut = () => response.destroy();
    });
    let cut: () => void = () => undefined;
    const rig = await rigFor(baseURL);
    const byRuntime = await quickest(async () => {
      const closed = new Promise<number>((resolve) => gone.push(resolve));
      const stop = new AbortController();
      await ask(rig, rig.lease(), { signal: stop.signal });
      const atMs = performance.now();
      stop.abort();
      return (await closed) - atMs;
    });
    const byProvider = await quickest(async () => {
      const response = await ask(rig, rig.lease());
      const atMs = performance.now();
      cut();
      expect((await readUntilBroken(response)).broken).toBe(true);
      return performance.now() - atMs;
    });
    expect(byRuntime).toBeLessThan(100);
    expect(byProvider).toBeLessThan(100);
  });
});

describe('who may come in', () => {
  test('H-200: a wrong, an absent and a disposed lease are refused, and none of them is in the log', async () => {
    const { baseURL, received } = await upstream((response) => response.end());
    const rig = await rigFor(baseURL);
    const lease = rig.lease();
    lease[Symbol.dispose]();
    for (const token of [lease.token, canary, '', `${lease.token}0`]) {
      const response = await fetch(`${rig.relay.url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': token },
        body: '{}',
      });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'authentication_error' } });
    }
    expect(received).toEqual([]);
    expect(lease.token).toMatch(/^[\da-f]{64}$/);
    expect(rig.log.join('')).not.toContain(lease.token);
  });

  test.each([
    ['anthropic', 'POST', '/v1/responses', { type: 'error', error: { type: 'not_found_error' } }],
    ['anthropic', 'GET', '/v1/messages', { type: 'error' }],
    ['anthropic', 'POST', '/v1/messages/../../admin', { type: 'error' }],
    ['anthropic', 'POST', '/toString', { type: 'error' }],
    ['openai', 'POST', '/v1/files', { error: { type: 'invalid_request_error' } }],
    ['google', 'POST', '/v1beta/models/a%2Fb:generateContent', { error: { code: 404, status: 'NOT_FOUND' } }],
    ['google', 'POST', '/v1beta/models/a:countTokens', { error: { code: 404 } }],
  ] as const)('H-201: %s has no %s %s, and says so in its own words', async (provider, method, path, body) => {
    const { baseURL, received } = await upstream((response) => response.end());
    const rig = await rigFor(baseURL, provider);
    const headers = { authorization: `Bearer ${rig.lease().token}` };
    const response = await fetch(`${rig.relay.url}${path}`, { method, headers });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject(body);
    expect(received).toEqual([]);
  });

  test('R1: a request by another host name is refused, whatever lease it brings', async () => {
    const { baseURL, received } = await upstream((response) => response.end());
    const rig = await rigFor(baseURL);
    const headers = { host: 'rebound.example', 'x-api-key': rig.lease().token };
    const request = httpRequest(`${rig.relay.url}/v1/messages`, { method: 'POST', headers }).end('{}');
    const [response]: IncomingMessage[] = await once(request, 'response');
    expect(response?.statusCode).toBe(403);
    expect(received).toEqual([]);
  });

  test('H-200: models that are not on the list are refused with 400, stand-ins and absent ones too', async () => {
    const { baseURL, received } = await upstream((response) => response.writeHead(200, json).end('{}'));
    const rig = await rigFor(baseURL, 'openrouter');
    const lease = rig.lease({ models: ['good'] });
    const path = '/v1/chat/completions';
    for (const body of [{ model: 'bad' }, { model: 'good', models: ['bad'] }, {}, 'text'])
      expect((await ask(rig, lease, { path, body, headers: { authorization: `Bearer ${lease.token}` } })).status).toBe(
        400,
      );
    expect(received).toEqual([]);
    expect((await ask(rig, lease, { path, body: { model: 'good' } })).status).toBe(200);
    expect(rig.facts.filter(({ at }) => at === 'ended').map((fact) => 'how' in fact && fact.how)).toEqual([
      'refused',
      'refused',
      'refused',
      'refused',
      'whole',
    ]);
    expect(received).toHaveLength(1);
  });

  test('H-201: a list of models passes and is no model call', async () => {
    const { baseURL, received } = await upstream((response) => response.writeHead(200, json).end('{"data":[]}'));
    const rig = await rigFor(baseURL);
    const lease = rig.lease({ models: ['good'], meter: createRunMeter({ ...noLeaseBudget, requests: 0 }) });
    const response = await fetch(`${rig.relay.url}/v1/models?limit=5`, { headers: { 'x-api-key': lease.token } });
    expect(await response.text()).toBe('{"data":[]}');
    expect([received[0]?.url, rig.facts]).toEqual(['/v1/models?limit=5', []]);
  });

  test('a request of more than 64 MiB is refused before it is sent', async () => {
    const rig = await rigFor('http://127.0.0.1:9/v1');
    const headers = { 'x-api-key': rig.lease().token, 'content-length': 64 * 1024 * 1024 + 1 };
    const request = httpRequest(`${rig.relay.url}/v1/messages`, { method: 'POST', headers });
    request.on('error', () => undefined).flushHeaders();
    const [response]: IncomingMessage[] = await once(request, 'response');
    expect(response?.statusCode).toBe(413);
    request.destroy();
  });

  /** A request whose body is never whole. */
  async function begun(rig: Rig, lease: Lease, bytes = 0) {
    const request = httpRequest(`${rig.relay.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': lease.token },
    }).on('error', () => undefined);
    request.flushHeaders();
    for (let left = bytes; left > 0; left -= 2 ** 20)
      if (!request.write(Buffer.alloc(2 ** 20, 32))) await once(request, 'drain');
    return {
      /** Its status, once all of it has been written. */
      async end() {
        request.end('{"model":"m"}');
        const [response]: IncomingMessage[] = await once(request, 'response');
        return [response?.statusCode, response?.headers['x-should-retry']];
      },
      [Symbol.dispose]: () => void request.destroy(),
    };
  }

  test('P-076: what the requests of one lease hold is bounded, in bytes and in number; others are not held up by it, and it goes on when they are gone', async () => {
    const { baseURL } = await upstream((response) => response.writeHead(200, json).end('{}'));
    const rig = await rigFor(baseURL);
    const [greedy, many, other] = [rig.lease(), rig.lease(), rig.lease()];
    using open = new DisposableStack();
    for (let each = 0; each < 2; each++) open.use(await begun(rig, greedy, 60 * 2 ** 20));
    for (let each = 0; each < 128; each++) open.use(await begun(rig, many));
    await vi.waitFor(() => expect([greedy.open, many.open]).toEqual([2, 128]), { timeout: 5_000 });
    const late = open.use(await begun(rig, greedy, 8 * 2 ** 20));
    expect(await late.end()).toEqual([429, undefined]);
    expect((await ask(rig, many)).status).toBe(429);
    expect((await ask(rig, other, { body: { model: 'm' } })).status).toBe(200);
    open.dispose();
    await vi.waitFor(() => expect([greedy.open, many.open]).toEqual([0, 0]), { timeout: 5_000 });
    for (const lease of [greedy, many]) expect((await ask(rig, lease, { body: { model: 'm' } })).status).toBe(200);
  });

  test('H-060: of what comes after the stop nothing is kept, and the word that ends the turn is read nevertheless', async () => {
    const rig = await rigFor('http://127.0.0.1:9/v1');
    const lease = rig.lease();
    lease.close();
    using long = await begun(rig, lease, 8 * 2 ** 20);
    expect(await long.end()).toEqual([400, 'false']);
    expect(endOf(rig)).toMatchObject({ how: 'refused', error: { type: 'reins_revoked' } });
  });
});

describe('ends', () => {
  test('H-202: a runtime that goes ends the call at the provider', async () => {
    let isGone = false;
    const { baseURL } = await upstream((response) => {
      response.once('close', () => (isGone = true));
      response.writeHead(200, events).write(wholeReply.slice(0, 60));
    });
    const rig = await rigFor(baseURL);
    const lease = rig.lease();
    const stop = new AbortController();
    await ask(rig, lease, { signal: stop.signal });
    expect(lease.open).toBe(1);
    stop.abort();
    await vi.waitFor(() => expect(isGone).toBe(true), { interval: 5 });
    await ended(rig);
    expect(endOf(rig)).toMatchObject({ how: 'aborted', error: null });
    expect(lease.open).toBe(0);
  });

  test('H-202: so does one that goes before there are headers', async () => {
    let isGone = false;
    const { baseURL, received } = await upstream((response) => response.once('close', () => (isGone = true)));
    const rig = await rigFor(baseURL);
    const stop = new AbortController();
    const asked = ask(rig, rig.lease(), { signal: stop.signal }).catch(() => 'gone');
    await vi.waitFor(() => expect(received).toHaveLength(1));
    stop.abort();
    expect(await asked).toBe('gone');
    await vi.waitFor(() => expect(isGone).toBe(true));
  });

  test('H-060: revoking aborts what runs and refuses what comes with a word that ends the turn', async () => {
    const gone: boolean[] = [];
    const { baseURL, received } = await upstream((response, _, index) => {
      response.once('close', () => gone.push(true));
      if (index === 0) response.writeHead(200, events).write(wholeReply.slice(0, 60));
    });
    const rig = await rigFor(baseURL);
    const lease = rig.lease();
    const streaming = await ask(rig, lease);
    const waiting = ask(rig, lease);
    await vi.waitFor(() => expect(received).toHaveLength(2));
    lease.revoke();
    expect(await readUntilBroken(streaming)).toMatchObject({ broken: true });
    expect((await waiting).status).toBe(400);
    const later = await ask(rig, lease);
    expect([later.status, later.headers.get('x-should-retry')]).toEqual([400, 'false']);
    expect(await later.json()).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } });
    await vi.waitFor(() => expect(gone).toHaveLength(2));
    expect([lease.open, received.length]).toEqual([0, 2]);
    expect(rig.facts.flatMap((fact) => (fact.at === 'ended' ? [fact.how] : [])).toSorted()).toEqual([
      'aborted',
      'aborted',
      'refused',
    ]);
  });

  test('H-203: a runtime that goes right after the end mark had a whole reply', async () => {
    const { baseURL } = await upstream((response) => response.writeHead(200, events).write(wholeReply));
    const rig = await rigFor(baseURL);
    const stop = new AbortController();
    const response = await ask(rig, rig.lease(), { signal: stop.signal });
    await response.body?.getReader().read();
    stop.abort();
    await ended(rig);
    expect(endOf(rig)).toMatchObject({ how: 'whole', finishReason: 'end_turn', error: null });
  });

  test('F3: all that came before a cut arrives, at a slow runtime, too', async () => {
    const line = Buffer.from(`: ${'x'.repeat(64 * 1024 - 4)}\n\n`);
    const { baseURL } = await upstream(async (response) => {
      response.writeHead(200, events);
      for (let sent = 0; sent < 200; sent++) if (!response.write(line)) await once(response, 'drain');
      response.write(': last\n\n');
      response.end();
    });
    const rig = await rigFor(baseURL);
    // A socket: an HTTP client throws away what it has read when the connection breaks.
    const socket = connect(Number(new URL(rig.relay.url).port), '127.0.0.1');
    const body = '{"model":"m","stream":true}';
    const head = ['POST /v1/messages HTTP/1.1', 'host: localhost', `x-api-key: ${rig.lease().token}`];
    socket.write([...head, `content-length: ${body.length}`, '', body].join('\r\n'));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) {
      chunks.push(Buffer.from(chunk));
      await pause(3);
    }
    const [, text = ''] = Buffer.concat(chunks)
      .toString()
      .split(/\r\n\r\n(.*)/s);
    expect(text.replaceAll(/[^x]/g, '').length).toBe(200 * (line.length - 4));
    expect(text).toContain(': last\n\n');
    expect(text).not.toContain('\r\n0\r\n');
    expect(endOf(rig)).toMatchObject({ how: 'cut' });
  });

  test('disposing the relay ends what runs', async () => {
    const { baseURL } = await upstream((response) => response.writeHead(200, events).write(wholeReply.slice(0, 60)));
    const rig = await rigFor(baseURL);
    const response = await ask(rig, rig.lease());
    await rig.relay[Symbol.asyncDispose]();
    expect((await readUntilBroken(response)).broken).toBe(true);
    await expect(fetch(rig.relay.url)).rejects.toThrow();
  });

  test('a provider that is not there is 502, and asked once', async () => {
    const rig = await rigFor('http://127.0.0.1:1/v1');
    const response = await ask(rig, rig.lease());
    expect(response.status).toBe(502);
    expect(endOf(rig)).toMatchObject({ how: 'cut' });
  });
});

const wires = [
  ['anthropic', 'anthropic', '/v1/messages'],
  ['openai', 'openai-responses', '/v1/responses'],
  ['openrouter', 'openai-chat', '/v1/chat/completions'],
  ['google', 'google', '/v1beta/models/m:streamGenerateContent?alt=sse'],
] as const satisfies readonly (readonly [RelayProvider, ModelServerProtocol, string])[];

describe.each(wires)('%s', (provider, protocol, path) => {
  async function play(fault?: ReplyFault) {
    const script = { ...simpleText('Hello ', 'you'), usage: { inputTokens: 11, outputTokens: 7 }, modelId: 'served-1' };
    const server = await startModelServer(protocol, [fault === undefined ? script : { ...script, fault }]);
    opened.push(server);
    const rig = await rigFor(server.baseURL, provider);
    const lease = rig.lease();
    const headers = { authorization: `Bearer ${lease.token}`, 'x-goog-api-key': lease.token };
    const response = await ask(rig, lease, { path, headers });
    const { broken, text } = await readUntilBroken(response);
    await ended(rig);
    return { rig, broken, text, status: response.status, response };
  }

  test('H-203: a whole reply is told of from asked to ended, with model and usage', async () => {
    const { rig, broken } = await play();
    expect(broken).toBe(false);
    const atMs = rig.clock.now();
    expect(rig.facts[0]).toEqual({ at: 'asked', request: 1, model: 'm', tools: 0, atMs });
    expect(rig.facts[1]).toEqual({ at: 'answered', request: 1, status: 200, retryAfterMs: null });
    // Time stood still: one byte fact, however many chunks there were.
    expect(rig.facts.filter(({ at }) => at === 'byte')).toEqual([{ at: 'byte', request: 1, atMs }]);
    expect(rig.facts.filter(({ at }) => at === 'served')).toEqual([{ at: 'served', request: 1, model: 'served-1' }]);
    const usage = { inputTokens: 11, outputTokens: 7 };
    expect(rig.facts.at(-2)).toMatchObject({ at: 'usage', request: 1, usage });
    expect(rig.facts.at(-1)).toMatchObject({ at: 'ended', request: 1, how: 'whole', error: null });
  });

  test.each(['cut', 'no-end-mark'] as const)(
    'H-204: a reply with the fault %s arrives as a broken connection, after its bytes',
    async (kind) => {
      const { rig, broken, text, status } = await play({ kind, after: 1 });
      expect([status, broken]).toEqual([200, true]);
      expect(text).toContain('Hello ');
      expect(text).not.toContain('you');
      expect(endOf(rig)).toMatchObject({ how: 'cut', finishReason: null });
    },
  );

  test('H-203: an error event passes as it is, and its type is told', async () => {
    const { rig, broken, text } = await play({ kind: 'error-event', after: 1, type: 'overloaded_error' });
    expect(broken).toBe(false);
    expect(text).toContain('overloaded_error');
    expect(endOf(rig)).toMatchObject({ error: { type: 'overloaded_error', message: 'Overloaded' } });
  });

  test('H-204: a quota that is used up becomes 400 with the original message', async () => {
    const message = 'You exceeded your current quota, please check your plan.';
    const { rig, status, text, response } = await play({
      kind: 'status',
      status: 429,
      type: 'insufficient_quota',
      message,
    });
    expect([status, response.headers.get('x-should-retry')]).toEqual([400, 'false']);
    expect(text).toContain(message);
    expect(text).not.toMatch(/insufficient_quota|RESOURCE_EXHAUSTED/);
    expect(rig.facts[1]).toMatchObject({ at: 'answered', status: 429 });
    expect(endOf(rig)).toMatchObject({ how: 'refused', error: { type: 'insufficient_quota', message } });
  });

  test('H-204: so does a wait that is longer than a minute, and a shorter one passes as it is', async () => {
    const fault = (seconds: string) =>
      ({
        kind: 'status',
        status: 429,
        type: 'rate_limit',
        message: 'Slow down',
        headers: { 'retry-after': seconds },
      }) as const;
    expect((await play(fault('61'))).status).toBe(400);
    const { rig, status, response, text } = await play(fault('60'));
    expect([status, response.headers.get('retry-after')]).toEqual([429, '60']);
    expect(text).toContain('rate_limit');
    expect(rig.facts[1]).toMatchObject({ at: 'answered', status: 429, retryAfterMs: 60_000 });
  });
});

describe('repairs', () => {
  test.each([
    ['a page', 200, { 'content-type': 'text/html' }],
    ['nothing', 204, {}],
    ['a compressed stream', 200, { ...events, 'content-encoding': 'gzip' }],
    ['another address', 302, { location: 'http://127.0.0.1:1/' }],
  ])('H-204: %s in place of an event stream is 502', async (_, status, headers) => {
    const { baseURL, received } = await upstream((response) => response.writeHead(status, headers).end());
    const rig = await rigFor(baseURL);
    const response = await ask(rig, rig.lease());
    expect(response.status).toBe(502);
    expect(response.headers.get('location')).toBeNull();
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'api_error' } });
    expect(received).toHaveLength(1);
    expect(rig.facts.at(-1)).toMatchObject({ at: 'ended', how: 'refused' });
  });

  test('H-204: a limit per minute of Google is no final failure, though it speaks of a quota', async () => {
    const error = {
      code: 429,
      message: 'You exceeded your current quota',
      details: [{ quotaId: 'RequestsPerMinute' }],
    };
    const { baseURL } = await upstream((response) => response.writeHead(429, json).end(JSON.stringify({ error })));
    const rig = await rigFor(baseURL, 'google');
    const lease = rig.lease();
    const path = '/v1beta/models/m:streamGenerateContent?alt=sse';
    expect((await ask(rig, lease, { path })).status).toBe(429);
  });

  test('H-204: a key that the provider repeats in its error does not reach the runtime, nor the facts, nor the log', async () => {
    const body = JSON.stringify({
      type: 'error',
      error: { type: 'authentication_error', message: `bad key ${canary}` },
    });
    const { baseURL } = await upstream((response) => response.writeHead(401, json).end(body));
    const rig = await rigFor(baseURL);
    const response = await ask(rig, rig.lease());
    const text = await response.text();
    expect([response.status, text]).toEqual([401, body.replace(canary, '[redacted]')]);
    expect(JSON.stringify([rig.facts, rig.log])).not.toContain(canary);
  });

  test('H-200: a spent budget refuses with 400: of requests, of tokens, and of dollars', async () => {
    const { baseURL, received } = await upstream((response) => response.writeHead(200, events).end(wholeReply));
    const rig = await rigFor(baseURL);
    for (const budget of [{ requests: 1 }, { tokens: 7 }, { dollars: 0.000_01 }]) {
      const meter = createRunMeter({ ...noLeaseBudget, ...budget });
      meter.begin(started());
      const lease = rig.lease({ meter });
      expect(await (await ask(rig, lease)).text()).toBe(wholeReply);
      const refused = await ask(rig, lease);
      expect(refused.status).toBe(400);
      expect(await refused.text()).toContain('budget');
      expect(meter.cut).toMatchObject({ status: 'completed', budget: { then: 'stop' } });
      expect(rig.facts.at(-1)).toMatchObject({ at: 'ended', how: 'refused', error: { type: 'reins_budget' } });
    }
    expect(received).toHaveLength(3);
  });

  test('H-205: an error that may pass is handed on as it came, once', async () => {
    const { baseURL, received } = await upstream((response) =>
      response.writeHead(529, { ...json, 'x-a': 'b' }).end('{"a" : 1}'),
    );
    const rig = await rigFor(baseURL);
    const response = await ask(rig, rig.lease());
    expect([response.status, response.headers.get('x-a'), await response.text()]).toEqual([529, 'b', '{"a" : 1}']);
    expect(received).toHaveLength(1);
  });
});

test('byte facts are a second apart at least', async () => {
  let more: () => void = () => undefined;
  const { baseURL } = await upstream((response) => {
    response.writeHead(200, events);
    more = () => void response.write(namedFrame('content_block_delta', { delta: { text: 'x' } }));
    more();
  });
  const rig = await rigFor(baseURL);
  const reader = (await ask(rig, rig.lease())).body?.getReader();
  for (const ms of [400, 400, 400]) {
    await reader?.read();
    await rig.clock.advance(ms);
    more();
  }
  await reader?.read();
  const startMs = createManualClock().now();
  await vi.waitFor(() =>
    expect(rig.facts.flatMap((fact) => (fact.at === 'byte' ? [fact.atMs - startMs] : []))).toEqual([0, 1200]),
  );
  await reader?.cancel();
});

test('a provider that is not set up gets no lease', async () => {
  const rig = await rigFor('http://127.0.0.1:1/v1');
  expect(() => rig.lease({ provider: 'openai' })).toThrow('not set up');
});
