// The whole server over real HTTP: SQLite in memory, the real log, the real engine with a scripted model. The model's clock
// is manual, so a test decides when a task that is under way goes on.

import { allowAll } from '../core/run-config.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { createKey, createOwnerKey } from '../auth/keys.ts';
import { harnessIds } from '../core/ids.ts';
import type { JsonObject } from '../core/json.ts';
import { silentLogger } from '../core/logger.ts';
import { createMemoryContent } from '../runtimes/memory-content.ts';
import { createModelHealth } from '../engine/model-health.ts';
import { defaultPolicies } from '../engine/policies.ts';
import { createWorkspaces } from '../files/workspaces.ts';
import { createNativeAdapter } from '../harnesses/native/native-adapter.ts';
import { createRegistry } from '../harnesses/registry.ts';
import { createRunLog } from '../stores/run-log.ts';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { openWebhooks } from '../webhooks/open-webhooks.ts';
import { plainSetup, type HarnessRecord } from '../stores/harness-record.ts';
import { systemClock, systemProcesses } from '../system.ts';
import { createBackgroundRuns } from '../tasks/background-runs.ts';
import { createFrameFeeds } from '../tasks/frame-feeds.ts';
import { createOwnership } from '../tasks/ownership.ts';
import type { Services } from '../tasks/services.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createScriptedModel } from '../testing/scripted-model.ts';
import { createHttpServer } from './server.ts';

const owner = createOwnerKey(1);
const other = createKey({ principal: 'other', scopes: ['read', 'tasks'], atMs: 1 });
const bearer = ({ key }: { readonly key: string }) => ({ authorization: `Bearer ${key}` });

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Bench {
  readonly url: string;
  readonly port: number;
  readonly services: Services;
  /** Model calls that were made. */
  modelCalls(): number;
  /** Lets a model that was told to `wait` go on. */
  goOn(): Promise<void>;
  send(method: string, path: string, options?: SendOptions): Promise<Response>;
}

interface SendOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: { readonly key: string };
  readonly signal?: AbortSignal;
}

function harnessOf(principal: string): HarnessRecord {
  return {
    harnessId: harnessIds.make(`of-${principal}`),
    principal,
    name: 'Default',
    base: 'native',
    defaultModel: null,
    systemPrompt: null,
    disabledTools: [],
    maxStep: null,
    timeoutSeconds: null,
    permissions: null,
    planning: null,
    setup: plainSetup,
    createdAtMs: 5,
    deleted: false,
  };
}

/** A model that counts to four, and with `wait` in the prompt stops after two until it is told to go on. */
async function serve(): Promise<Bench> {
  const [modelClock, dataDir] = [createManualClock(), mkdtempSync(join(tmpdir(), 'reins-http-'))];
  const model = createScriptedModel(
    ({ prompt }) => {
      const waits = JSON.stringify(prompt).includes('wait');
      const text = (...chunks: string[]) => ({ kind: 'text', chunks }) as const;
      const pieces = waits
        ? [text('one ', 'two '), { kind: 'pause', ms: 1_000 } as const, text('three ', 'four')]
        : [text('one ', 'two ', 'three ', 'four')];
      return { pieces, usage: { inputTokens: 1, outputTokens: 4 } };
    },
    { clock: modelClock },
  );
  let token = 0;
  const random = { fraction: () => 0.5, token: () => `t${(token++).toString().padStart(31, '0')}` };
  const [clock, logger, ref] = [systemClock, silentLogger, { provider: 'scripted', model: 'scripted-1' }];
  const listing = { id: 'scripted-1', label: 'Scripted', available: true, why: 'It is in process.' };
  const adapter = createNativeAdapter(
    {
      clock,
      random,
      logger,
      policies: defaultPolicies,
      tools: [],
      content: createMemoryContent(),
      health: createModelHealth({ clock }),
      openModel: async () => ({ model, traits: {}, maxOutputTokens: null }),
    },
    { list: () => [listing], choose: () => ({ available: true, id: 'scripted-1', ref }), defaultModel: 'scripted-1' },
  );
  const store = openSqlite(':memory:');
  for (const { record } of [owner, other]) await store.putKey(record);
  for (const principal of ['owner', 'other']) await store.putHarness(harnessOf(principal));
  const log = createRunLog({ store, clock, logger });
  const services: Services = {
    store,
    log,
    harnesses: createRegistry([adapter]),
    workspaces: createWorkspaces({ dataDir }),
    runs: createBackgroundRuns({ clock: systemClock, logger: logger }),
    frames: createFrameFeeds(log),
    files: null,
    uploads: null,
    clock,
    random,
    logger,
    settings: {
      timeoutSeconds: 60,
      maxTimeoutSeconds: 60,
      systemPrompt: null,
      planning: false,
      permissions: { ...allowAll, expiresAfterSeconds: 600 },
      streamRetentionSeconds: 60,
      sessionRetentionSeconds: null,
      maxUploadBytes: 1_000_000,
      uploadRetentionSeconds: 60,
      linkBase: () => 'http://127.0.0.1',
    },
    owner: 'test',
    ownership: createOwnership({ store, clock, owner: 'test', processes: systemProcesses }),
  };
  const settings = {
    maxBodyBytes: 100_000,
    implementation: { name: 'reins', version: '0.0.0' },
  };
  const webhooks = openWebhooks({ ...services, clock: systemClock }, { allowLoopback: true });
  const server = createHttpServer({ services, operatorKey: null, webhooks, settings });
  const url = await server.listen('127.0.0.1', 0);
  cleanups.push(async () => {
    await server.close(0);
    await webhooks.delivery.stop();
    await services.runs.drain();
    await log.close();
    await store[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return {
    url,
    port: Number(new URL(url).port),
    services,
    modelCalls: () => model.calls.length,
    async goOn() {
      while (modelClock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
      await modelClock.advance(1_000);
    },
    send: (method, path, { body, headers = {}, as = owner, signal } = {}) =>
      fetch(url + path, {
        method,
        headers: { ...bearer(as), ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      }),
  };
}

type Wire = Record<string, unknown> & {
  id: string;
  status: string;
  output: unknown[];
  metadata: Record<string, unknown>;
};
const json = async (answer: Response | Promise<Response>) => (await (await answer).json()) as Wire;
const error = async (answer: Response | Promise<Response>) => {
  const { status, body } = await Promise.resolve(answer).then(async (each) => ({
    status: each.status,
    body: await each.json(),
  }));
  return [status, (body as { error: { code: string } }).error.code];
};
const numbersOf = (stream: string) => [...stream.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number));
const withoutComments = (stream: string) => stream.replaceAll(/^:.*\n\n/gm, '');

async function runTask(bench: Bench, body: JsonObject = {}): Promise<{ stream: string; id: string }> {
  const stream = await (
    await bench.send('POST', '/v1/responses', { body: { input: 'count', stream: true, ...body } })
  ).text();
  return { stream, id: /"id":"(resp_[^"]+)"/.exec(stream)?.[1] ?? '' };
}

/** Reads until the text is there; what follows stays unread. */
async function readUntil(answer: Response, text: string): Promise<string> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let read = '';
  while (!read.includes(text)) {
    const next = await reader?.read();
    if (next === undefined || next.done) break;
    read += next.value;
  }
  await reader?.cancel();
  return read;
}

describe('tasks over HTTP', () => {
  test('UD-20: the answer, the terminal event and a later read are one object', async () => {
    const bench = await serve();
    const { stream, id } = await runTask(bench);
    expect(numbersOf(stream)).toEqual([...numbersOf(stream).keys()]);
    const last = JSON.parse(stream.trimEnd().split('\ndata: ').at(-1) ?? '') as { type: string; response: Wire };
    expect(last).toMatchObject({ type: 'response.completed', response: { id, status: 'completed' } });
    expect(await json(bench.send('GET', `/v1/responses/${id}`))).toEqual(last.response);
    const blocking = await json(bench.send('POST', '/v1/responses', { body: { input: 'count' } }));
    expect(JSON.stringify(blocking.output)).toContain('one two three four');
    const items = await json(bench.send('GET', `/v1/responses/${id}/input_items`));
    expect(items).toMatchObject({ object: 'list', data: [{ role: 'user' }] });
  });

  test('UT-13, U-320: a task goes on without its reader, streamed or waiting', async () => {
    const bench = await serve();
    const streamed = await bench.send('POST', '/v1/responses', { body: { input: 'wait', stream: true } });
    const id = /"id":"(resp_[^"]+)"/.exec(await readUntil(streamed, 'response.created'))?.[1];
    await bench.goOn();
    const rest = await (await bench.send('GET', `/v1/responses/${id}?stream=true`)).text();
    expect(rest).toContain('response.completed');
    const abort = new AbortController();
    const waiting = bench.send('POST', '/v1/responses', {
      body: { input: 'wait' },
      headers: { 'Idempotency-Key': 'k' },
      signal: abort.signal,
    });
    while (bench.modelCalls() < 2) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    await expect(waiting).rejects.toThrow();
    await bench.goOn();
    const again = await bench.send('POST', '/v1/responses', {
      body: { input: 'wait' },
      headers: { 'Idempotency-Key': 'k' },
    });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await json(again)).toMatchObject({ status: 'completed' });
    expect(bench.modelCalls()).toBe(2);
  });

  test('U-073, U-074, U-075: cancel and delete, of a running and of an ended task', async () => {
    const bench = await serve();
    const running = await json(bench.send('POST', '/v1/responses', { body: { input: 'wait', background: true } }));
    expect(running.status).toBe('in_progress');
    const session = String(running.metadata['session_id']);
    expect(await json(bench.send('POST', `/v1/responses/${running.id}/cancel`))).toMatchObject({ status: 'cancelled' });
    expect(await json(bench.send('POST', `/v1/responses/${running.id}/cancel`))).toMatchObject({ status: 'cancelled' });
    expect(await json(bench.send('POST', `/v1/sessions/${session}/cancel`))).toEqual({
      id: session,
      status: 'cancelled',
    });
    expect(await json(bench.send('DELETE', `/v1/responses/${running.id}`))).toEqual({ id: running.id, deleted: true });
    expect(await error(bench.send('GET', `/v1/responses/${running.id}`))).toEqual([404, 'response_not_found']);
  });

  test('U-061 to U-064: harnesses and models', async () => {
    const bench = await serve();
    const id = harnessOf('owner').harnessId;
    const harness = await json(bench.send('GET', `/v1/harnesses/${id}`));
    expect(harness).toMatchObject({ id, object: 'harness', base: 'native', baseLabel: 'Reins', createdAt: 5 });
    expect(await json(bench.send('GET', '/v1/harnesses'))).toEqual({ harnesses: [harness] });
    const models = [{ id: 'scripted-1', label: 'Scripted', backend: 'native', available: true, default: true }];
    expect(await json(bench.send('GET', '/v1/models'))).toEqual({
      backends: { native: { default: 'scripted-1', models } },
      reins_not_installed: [],
    });
    expect(await json(bench.send('GET', `/v1/harnesses/${id}/models`))).toEqual({
      harness_id: id,
      backend: 'native',
      default: 'scripted-1',
      models,
    });
  });

  test('U-031 to U-033: discovery says what is served, and its class agrees', async () => {
    const { url } = await serve();
    expect(await json(fetch(`${url}/v1/uhp`))).toMatchObject({
      object: 'uhp.discovery',
      conformance_class: 'full',
      capabilities: { streaming: true, cancellation: true, session_listing: true, reins_approvals: true },
    });
  });

  test('UD-79: the feed of a harness shows the events of its tasks, with their response and session', async () => {
    const bench = await serve();
    const feed = await bench.send('GET', `/v1/harnesses/${harnessOf('owner').harnessId}/events`);
    const reading = readUntil(feed, 'response.completed');
    const { id } = await runTask(bench);
    const text = await reading;
    expect(text).toMatch(/^: /);
    expect(text).toContain(`"response_id":"${id}"`);
    expect(text).not.toMatch(/^id:/m);
  });
});

describe('idempotency', () => {
  test('UT-05, UT-06: twenty at once with one key are one task', async () => {
    const bench = await serve();
    const headers = { 'Idempotency-Key': 'same' };
    const sent = Array.from({ length: 20 }, () =>
      bench.send('POST', '/v1/responses', { body: { input: 'count' }, headers }),
    );
    const answers = await Promise.all(sent);
    const bodies = await Promise.all(answers.map(json));
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true').length).toBe(19);
    expect(bench.modelCalls()).toBe(1);
  });

  test('UT-07: a streamed repeat has the same bytes, and one with another body is marked', async () => {
    const bench = await serve();
    const headers = { 'Idempotency-Key': 'k' };
    const first = await bench.send('POST', '/v1/responses', { body: { input: 'count', stream: true }, headers });
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const stream = await first.text();
    const same = await bench.send('POST', '/v1/responses', {
      body: { stream: true, input: 'count', background: null },
      headers,
    });
    expect([same.headers.get('idempotent-replayed'), same.headers.get('reins-idempotency-mismatch')]).toEqual([
      'true',
      null,
    ]);
    expect(withoutComments(await same.text())).toBe(withoutComments(stream));
    const different = await bench.send('POST', '/v1/responses', { body: { input: 'other', stream: true }, headers });
    expect(different.headers.get('reins-idempotency-mismatch')).toBe('true');
    expect(withoutComments(await different.text())).toBe(withoutComments(stream));
    expect(bench.modelCalls()).toBe(1);
  });

  test('UD-10: a key that is no key is refused by name', async () => {
    const bench = await serve();
    for (const key of ['', 'a b', 'x'.repeat(256), 'é']) {
      const answer = await bench.send('POST', '/v1/responses', {
        body: { input: 'count' },
        headers: { 'Idempotency-Key': key },
      });
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_input', param: 'Idempotency-Key' } });
    }
    expect(bench.modelCalls()).toBe(0);
  });
});

describe('resuming', () => {
  test('UT-09: after every event, by query and by header, what comes is exactly the rest', async () => {
    const bench = await serve();
    const { stream, id } = await runTask(bench);
    const frames = withoutComments(stream).split(/(?<=\n\n)/);
    for (let seen = 0; seen < frames.length - 1; seen++) {
      const rest = frames.slice(seen + 1).join('');
      const byQuery = await bench.send('GET', `/v1/responses/${id}?stream=true&starting_after=${seen}`);
      expect(withoutComments(await byQuery.text())).toBe(rest);
      const headers = { 'Last-Event-ID': String(seen) };
      const byHeader = await bench.send('GET', `/v1/responses/${id}?stream=true&starting_after=0`, { headers });
      expect(withoutComments(await byHeader.text())).toBe(rest);
    }
  });

  test('UT-09: a reader that comes back to a running task misses and repeats nothing', async () => {
    const bench = await serve();
    const first = await bench.send('POST', '/v1/responses', { body: { input: 'wait', stream: true } });
    const before = await readUntil(first, 'two ');
    const id = /"id":"(resp_[^"]+)"/.exec(before)?.[1];
    const seen = numbersOf(before).at(-1) ?? 0;
    const back = await bench.send('GET', `/v1/responses/${id}?stream=true&starting_after=${seen}`);
    await bench.goOn();
    const numbers = [...numbersOf(before), ...numbersOf(await back.text())];
    expect(numbers).toEqual([...numbers.keys()]);
  });

  test('UT-10: every row of the table of cursors', async () => {
    const bench = await serve();
    const headers = { 'Idempotency-Key': 'k' };
    const first = await bench.send('POST', '/v1/responses', { body: { input: 'count', stream: true }, headers });
    const stream = await first.text();
    const id = /"id":"(resp_[^"]+)"/.exec(stream)?.[1];
    const last = numbersOf(stream).at(-1) ?? 0;
    const get = (query: string) => bench.send('GET', `/v1/responses/${id}?stream=true&${query}`);
    const repeat = (cursor: string, key: Record<string, string>, body: JsonObject = { input: 'count', stream: true }) =>
      bench.send('POST', '/v1/responses', { body, headers: { ...key, 'Last-Event-ID': cursor } });
    const end = await get(`starting_after=${last}`);
    expect([end.status, await end.text(), end.headers.get('uhp-version')]).toEqual([204, '', '2026-10-04']);
    expect((await repeat(String(last), headers)).status).toBe(204);
    const beyond = await get(`starting_after=${last + 1}`);
    expect(await beyond.json()).toMatchObject({
      error: { code: 'reins_cursor_out_of_range', detail: { last_sequence_number: last } },
    });
    for (const wrong of ['-1', '1.5', 'x', '', '1e3', '9'.repeat(30)])
      expect(await error(get(`starting_after=${wrong}`))).toEqual([400, 'invalid_input']);
    expect(await error(get('starting_after=1&starting_after=2'))).toEqual([400, 'invalid_input']);
    expect(numbersOf(await (await repeat('3', headers)).text())[0]).toBe(4);
    const mismatch = await repeat('3', headers, { input: 'other', stream: true });
    expect([mismatch.headers.get('reins-idempotency-mismatch'), numbersOf(await mismatch.text())[0]]).toEqual([
      'true',
      4,
    ]);
    expect(await error(repeat('3', {}))).toEqual([400, 'reins_cursor_without_key']);
    expect(await error(repeat('3', { 'Idempotency-Key': 'unknown' }))).toEqual([410, 'reins_event_log_expired']);
    expect(bench.modelCalls()).toBe(1);
    await bench.services.store.prune({ endedBeforeMs: Date.now() + 1_000, nowMs: Date.now() + 1_000 });
    expect(await error(get('starting_after=1'))).toEqual([410, 'reins_event_log_expired']);
    expect((await bench.send('GET', `/v1/responses/${id}`)).status).toBe(200);
  });
});

describe('scope', () => {
  test("UT-12, B124: another principal's id is answered in nothing different from an unknown one", async () => {
    const bench = await serve();
    const mine = await json(
      bench.send('POST', '/v1/responses', { body: { input: 'count' }, headers: { 'Idempotency-Key': 'k' } }),
    );
    const ids = { resp: mine.id, sess: String(mine.metadata['session_id']), harn: harnessOf('owner').harnessId };
    const attempts = (resp: string, sess: string, harn: string): [string, string, JsonObject?][] => [
      ['GET', `/v1/responses/${resp}`],
      ['GET', `/v1/responses/${resp}?stream=true`],
      ['GET', `/v1/responses/${resp}/input_items`],
      ['POST', `/v1/responses/${resp}/cancel`],
      ['DELETE', `/v1/responses/${resp}`],
      ['POST', `/v1/sessions/${sess}/cancel`],
      ['GET', `/v1/harnesses/${harn}`],
      ['GET', `/v1/harnesses/${harn}/models`],
      ['GET', `/v1/harnesses/${harn}/events`],
      ['POST', '/v1/responses', { input: 'x', previous_response_id: resp }],
      ['POST', '/v1/responses', { input: 'x', metadata: { harness_id: harn } }],
    ];
    const foreign = attempts(ids.resp, ids.sess, ids.harn);
    const unknown = attempts('resp_none', 'hsessnone', 'chrn_none');
    for (const [index, [method, path, body]] of foreign.entries()) {
      const [, unknownPath = '', unknownBody] = unknown[index] ?? [];
      const asked = await bench.send(method, path, { as: other, ...(body === undefined ? {} : { body }) });
      const control = await bench.send(method, unknownPath, {
        as: other,
        ...(unknownBody === undefined ? {} : { body: unknownBody }),
      });
      expect([path, asked.status, await asked.text()]).toEqual([path, 404, await control.text()]);
    }
    const listed = await bench.send('GET', '/v1/harnesses', { as: other });
    expect(await listed.text()).not.toContain(ids.harn);
    const sameKey = await bench.send('POST', '/v1/responses', {
      body: { input: 'count' },
      headers: { 'Idempotency-Key': 'k' },
      as: other,
    });
    expect(sameKey.headers.get('idempotent-replayed')).toBeNull();
    expect((await json(sameKey)).id).not.toBe(mine.id);
    expect((await bench.send('GET', `/v1/responses/${mine.id}`)).status).toBe(200);
  });

  test('UT-34: a revoked key is refused at the next request', async () => {
    const bench = await serve();
    expect((await bench.send('GET', '/v1/harnesses', { as: other })).status).toBe(200);
    await bench.services.store.putKey({ ...other.record, revokedAtMs: 2 });
    expect(await error(bench.send('GET', '/v1/harnesses', { as: other }))).toEqual([401, 'invalid_credential']);
  });
});

describe('UT-23: envelope and version everywhere', () => {
  const segment = fc.oneof(
    fc.constantFrom(
      'v1',
      'uhp',
      'harnesses',
      'models',
      'responses',
      'sessions',
      'cancel',
      'input_items',
      'resp_x',
      '..',
      '',
      '%',
      '%2f',
      '%00',
      '%zz',
      '__proto__',
    ),
    fc.string({ maxLength: 6 }).map(encodeURIComponent),
  );
  const path = fc.oneof(
    fc.constantFrom(
      '/v1/responses',
      '/v1/responses/x',
      '/v1/responses/x/cancel',
      '/v1/harnesses/x/events',
      '/v1/sessions/x/cancel',
      '*',
    ),
    fc.array(segment, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`),
  );
  const query = fc.oneof(
    fc.constant(''),
    fc.constantFrom('?stream=true', '?stream=maybe', '?starting_after=x', '?stream=true&stream=true', '?%zz'),
  );
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'NONSENSE');
  const contentType = fc.constantFrom(
    'application/json',
    'text/plain',
    'multipart/form-data',
    'application/json; charset=latin1',
    ';',
    '',
  );
  const body = fc.oneof(
    fc.constantFrom(
      '',
      '{',
      '[]',
      'null',
      '{"input":null}',
      '{"input":[]}',
      '{"input":"x","stream":"yes"}',
      '{"__proto__":{"input":"x"}}',
    ),
    fc.json(),
    fc.constant('['.repeat(5_000) + ']'.repeat(5_000)),
    fc.constant('x'.repeat(101_000)),
  );
  const authorization = fc.constantFrom(`Bearer ${owner.key}`, `Bearer ${owner.key}`, 'Bearer wrong', 'Basic x', '');
  const extra = fc.constantFrom(
    '',
    'UHP-Version: 2026-08-11\r\n',
    'UHP-Version: x\r\n',
    'Last-Event-ID: x\r\n',
    'Idempotency-Key: a b\r\n',
    'Expect: x\r\n',
  );

  test('whatever is sent, the answer is versioned, an error is an envelope, and nothing inner shows', async () => {
    const bench = await serve();
    const request = fc.record({ method, path, query, contentType, body, authorization, extra });
    await fc.assert(
      fc.asyncProperty(request, async (sent) => {
        const text =
          `${sent.method} ${sent.path}${sent.query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: ${sent.authorization}\r\n` +
          `${sent.extra}Content-Type: ${sent.contentType}\r\nContent-Length: ${Buffer.byteLength(sent.body)}\r\n\r\n${sent.body}`;
        const answer = await exchange(bench.port, text);
        expect(answer.head).toMatch(/^uhp-version: \d{4}-\d\d-\d\d$/im);
        expect(answer.head).toMatch(/^x-request-id: req_/im);
        expect(answer.status).not.toBe(500);
        expect(answer.body).not.toMatch(/node_modules|\/src\/|\.ts:\d|FST_|SyntaxError/);
        expect(answer.body).not.toContain(owner.key);
        if (answer.status === 200) return;
        expect(answer.head).toMatch(/^content-type: application\/json; charset=utf-8$/im);
        const { error: told } = JSON.parse(answer.body) as { error: JsonObject };
        expect(Object.keys(told)).toEqual(['type', 'code', 'message', 'param', 'detail']);
      }),
      { numRuns: 500 },
    );
  });
});

function exchange(port: number, bytes: string): Promise<{ status: number; head: string; body: string }> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    // A server that has refused need not read on: what was sent after that may meet a closed socket.
    socket.on('error', () => {});
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    socket.on('close', () => {
      const cut = text.indexOf('\r\n\r\n');
      resolve({ status: Number(text.split(' ')[1]), head: text.slice(0, cut), body: text.slice(cut + 4) });
    });
  });
}
