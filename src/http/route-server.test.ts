import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createKey, createOwnerKey } from '../auth/keys.ts';
import { NotFoundError, RequestError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { Logger } from '../core/logger.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createRouteServer, type HttpServer } from './route-server.ts';
import type { Route } from './route.ts';
import { createSendStream } from './send-stream.ts';

const owner = createOwnerKey(1);
const reader = createKey({ principal: 'ada', scopes: ['read'], atMs: 1 });
const records = new Map([owner, reader].map(({ record }) => [record.hash, record]));
const authorization = `Bearer ${owner.key}`;
const versionHeader = 'uhp-version';
const defaultVersion = '2026-10-04';

const servers: HttpServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close(0);
});

interface LogLine {
  readonly message: string;
  readonly facts: JsonObject | undefined;
  readonly cause: unknown;
}

const clock = createManualClock();

async function serve(
  options: { readonly publicUrl?: string; readonly maxBodyBytes?: number; readonly headersMs?: number } = {},
) {
  const errors: LogLine[] = [];
  const logger: Logger = {
    info() {},
    warn() {},
    error: (message, facts, cause) => errors.push({ message, facts, cause }),
  };
  let token = 0;
  const { publicUrl, maxBodyBytes = 1_000, headersMs } = options;
  const sendStream = createSendStream({ clock, logger });
  const state = { waiting: 0, gone: 0 };
  const routes: readonly Route[] = [
    { path: '/v1/uhp', verbs: { GET: { open: true, handle: () => ({ object: 'uhp.discovery' }) } } },
    {
      path: '/v1/things/:id',
      verbs: {
        GET: { scope: 'read', handle: ({ request }) => ({ id: request.params['id'] }) },
        POST: { scope: 'tasks', handle: ({ request }) => ({ body: request.body ?? null }) },
      },
    },
    {
      path: '/v1/faults/:id',
      verbs: {
        GET: {
          scope: 'read',
          handle({ request }) {
            if (request.params['id'] === 'missing') throw new NotFoundError('response');
            if (request.params['id'] === 'provider') throw Object.assign(new Error('sk-secret'), { statusCode: 401 });
            throw new Error('ENOENT: /data/secret.db');
          },
        },
      },
    },
    {
      path: '/v1/streams/:id',
      verbs: {
        GET: {
          scope: 'read',
          handle: (call) =>
            sendStream(call, async function* (signal) {
              yield { text: 'id: 0\ndata: {}\n\n' };
              await aborted(signal);
            }),
        },
      },
    },
    {
      path: '/v1/waits/:id',
      verbs: {
        GET: {
          scope: 'read',
          async handle(call) {
            state.waiting++;
            await aborted(call.signal());
            state.gone++;
            const [status, errorType, code] = [503, 'server_error', 'harness_unavailable'] as const;
            throw new RequestError({ status, errorType, code, message: 'The server is closing.' });
          },
        },
      },
    },
  ];
  const server = createRouteServer(routes, {
    keys: { keyByHash: async (hash) => records.get(hash) ?? null },
    clock,
    random: { fraction: () => 0.5, token: () => String(token++) },
    logger,
    audit: async () => {},
    settings: {
      maxBodyBytes,
      ...(publicUrl === undefined ? {} : { publicUrl }),
      ...(headersMs === undefined ? {} : { receiveTimeouts: { headersMs, requestMs: 300_000, checkMs: 20 } }),
    },
  });
  servers.push(server);
  const url = await server.listen('127.0.0.1', 0);
  return { url, port: Number(new URL(url).port), errors, server, state };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends bytes as they are and reads until the server closes. */
function sendRaw(port: number, bytes: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
    socket.on('error', reject);
    socket.on('close', () => {
      const [headText = '', body = ''] = text.split('\r\n\r\n', 2);
      const [first = '', ...lines] = headText.split('\r\n');
      const headers = lines.map(
        (line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)] as const,
      );
      resolve({ status: Number(first.split(' ')[1]), headers: new Map(headers), body });
    });
  });
}

function httpText(line: string, headers: Record<string, string> = {}, body = ''): string {
  const all = { Host: 'a', Connection: 'close', Authorization: authorization, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

function post(body: string, headers: Record<string, string> = {}): string {
  const own = { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) };
  return httpText('POST /v1/things/a', { ...own, ...headers }, body);
}

function expectEnvelope(answer: Answer, status: number, code: string): JsonObject {
  expect([answer.status, answer.headers.get('content-type')]).toEqual([status, 'application/json; charset=utf-8']);
  expect(answer.headers.get(versionHeader)).toBe(defaultVersion);
  expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  const { error } = JSON.parse(answer.body) as { error: JsonObject };
  expect(Object.keys(error)).toEqual(['type', 'code', 'message', 'param', 'detail']);
  expect(error['code']).toBe(code);
  return error;
}

describe('versions', () => {
  test('U-021, U-022: the version asked for is served and named, without one the default', async () => {
    const { port } = await serve();
    const asked = await sendRaw(port, httpText('GET /v1/uhp', { 'UHP-Version': '2026-08-11' }));
    expect([asked.status, asked.headers.get(versionHeader)]).toEqual([200, '2026-08-11']);
    expect((await sendRaw(port, httpText('GET /v1/uhp'))).headers.get(versionHeader)).toBe(defaultVersion);
  });

  test('U-023: an unknown version is refused before credential, path, method and body are looked at', async () => {
    const { port } = await serve();
    for (const line of ['GET /v1/uhp', 'GET /nowhere', 'DELETE /v1/things/a', 'GET /v1/%zz', 'PROPFIND /v1/uhp']) {
      const answer = await sendRaw(port, httpText(line, { 'UHP-Version': '1999-01-01', Authorization: 'Bearer no' }));
      const error = expectEnvelope(answer, 400, 'unsupported_protocol_version');
      expect(error['detail']).toEqual({ supported: ['2026-10-04', '2026-09-28', '2026-09-12', '2026-08-11'] });
    }
  });

  test('U-022: a stream carries version and request id as every other answer', async () => {
    const { url } = await serve();
    const answer = await fetch(`${url}/v1/streams/a`, { headers: { authorization, 'UHP-Version': '2026-09-12' } });
    expect(answer.headers.get(versionHeader)).toBe('2026-09-12');
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    await answer.body?.cancel();
  });
});

describe('the door', () => {
  test('UD-64: without a credential every path below /v1 answers 401, however it is spelled', async () => {
    const { port } = await serve();
    const lines = [
      'GET /v1/things/a',
      'PATCH /v1/things/a',
      'GET /v1/nowhere',
      'GET /%76%31/things/a',
      'GET /v1/%zz',
      'GET /v1',
      'GET /api/x',
      'GET http://a/v1/nowhere',
    ];
    for (const line of lines) {
      const answer = await sendRaw(port, httpText(line).replace(/Authorization.*\r\n/, ''));
      expectEnvelope(answer, 401, 'missing_credential');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
    for (const line of ['GET /nowhere', 'GET /v1/shared/x'])
      expectEnvelope(await sendRaw(port, httpText(line, { Authorization: '' })), 404, 'reins_route_not_found');
  });

  test('U-030: discovery takes any credential, also a wrong one', async () => {
    const { port } = await serve();
    expect((await sendRaw(port, httpText('GET /v1/uhp', { Authorization: 'Bearer wrong' }))).status).toBe(200);
  });

  test('U-045, UR-34: a key without the scope of the operation gets 403, after route and method', async () => {
    const { port } = await serve();
    const headers = { Authorization: `Bearer ${reader.key}` };
    expect((await sendRaw(port, httpText('GET /v1/things/a', headers))).status).toBe(200);
    expectEnvelope(await sendRaw(port, httpText('POST /v1/things/a', headers)), 403, 'insufficient_scope');
    expectEnvelope(await sendRaw(port, httpText('DELETE /v1/things/a', headers)), 405, 'reins_method_not_allowed');
  });

  test('UD-64: a wrong method is told what is allowed, whatever the method and before the body is read', async () => {
    const { port } = await serve();
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const answer = await sendRaw(
        port,
        httpText(`${method} /v1/things/a`, { 'Content-Type': 'nonsense', 'Content-Length': '1' }, '{'),
      );
      expectEnvelope(answer, 405, 'reins_method_not_allowed');
      expect(answer.headers.get('allow')).toBe('GET, HEAD, POST');
    }
  });

  test('UD-68: no redirect and no cleaning of slashes or dots; parameters are decoded once', async () => {
    const { port } = await serve();
    for (const path of ['/v1/things/a/', '//v1/things/a', '/v1//things/a', '/v1/x/../things/a', '/V1/things/a'])
      expectEnvelope(await sendRaw(port, httpText(`GET ${path}`)), 404, 'reins_route_not_found');
    for (const [sent, id] of [
      ['a%2Fb', 'a/b'],
      ['a%252Fb', 'a%2Fb'],
      ['..%2f..', '../..'],
      ['x'.repeat(8_000), 'x'.repeat(8_000)],
    ])
      expect(JSON.parse((await sendRaw(port, httpText(`GET /v1/things/${sent}`))).body)).toEqual({ id });
  });

  test('HEAD is GET without its body, also of a stream', async () => {
    const { port } = await serve();
    for (const [path, type] of [
      ['things/a', 'application/json; charset=utf-8'],
      ['streams/a', 'text/event-stream; charset=utf-8'],
    ]) {
      const answer = await sendRaw(port, httpText(`HEAD /v1/${path}`));
      expect([answer.status, answer.headers.get('content-type'), answer.body]).toEqual([200, type, '']);
    }
  });

  test('U-426: TLS in front is declared by the public URL', async () => {
    const [plain, tls] = [await serve(), await serve({ publicUrl: 'https://reins.example' })];
    expect((await sendRaw(plain.port, httpText('GET /v1/uhp'))).headers.has('strict-transport-security')).toBe(false);
    expect((await sendRaw(tls.port, httpText('GET /v1/uhp'))).headers.get('strict-transport-security')).toMatch(
      /^max-age=/,
    );
  });
});

describe('bodies', () => {
  test('Q-13: an empty body announced as JSON is no body', async () => {
    const { port } = await serve();
    for (const body of ['', ' \r\n'])
      expect(JSON.parse((await sendRaw(port, post(body))).body)).toEqual({ body: null });
    expect(JSON.parse((await sendRaw(port, httpText('POST /v1/things/a'))).body)).toEqual({ body: null });
  });

  test('U-056: what is no JSON, or not announced as JSON, is invalid input and is not repeated in the answer', async () => {
    const { port } = await serve();
    const answers = [
      await sendRaw(port, post('{"sk-secret": ')),
      await sendRaw(port, post('{}', { 'Content-Type': 'text/plain' })),
      await sendRaw(port, post('{}', { 'Content-Type': ';;' })),
      await sendRaw(port, httpText('POST /v1/things/a', { 'Content-Length': '2' }, '{}')),
    ];
    for (const answer of answers) {
      expectEnvelope(answer, 400, 'invalid_input');
      expect(answer.body).not.toContain('sk-secret');
    }
  });

  test('UD-63: a body over the limit is 413 with the limit, announced or not', async () => {
    const { port } = await serve();
    const big = JSON.stringify({ text: 'x'.repeat(2_000) });
    const chunked = `${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`;
    const headers = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
    for (const bytes of [post(big), httpText('POST /v1/things/a', headers, chunked)])
      expect(expectEnvelope(await sendRaw(port, bytes), 413, 'file_too_large')['detail']).toEqual({ max_bytes: 1_000 });
  });

  test('U-201: keys that reach for a prototype are dropped, not refused and not obeyed', async () => {
    const { port } = await serve();
    const answer = await sendRaw(
      port,
      post('{"a":1,"__proto__":{"admin":true},"b":{"constructor":{"prototype":{"x":1}}}}'),
    );
    expect(JSON.parse(answer.body)).toEqual({ body: { a: 1, b: {} } });
  });
});

describe('faults', () => {
  test('U-042: an error of ours is answered as it says', async () => {
    const { port, errors } = await serve();
    expectEnvelope(await sendRaw(port, httpText('GET /v1/faults/missing')), 404, 'response_not_found');
    expect(errors).toEqual([]);
  });

  test('U-052, UD-66: of anything unforeseen the caller gets the request id, the operator the cause', async () => {
    const { port, errors } = await serve();
    for (const id of ['any', 'provider']) {
      const answer = await sendRaw(port, httpText(`GET /v1/faults/${id}`));
      const error = expectEnvelope(answer, 500, 'reins_internal');
      const requestId = answer.headers.get('x-request-id');
      expect(error).toMatchObject({ type: 'server_error', detail: { request_id: requestId } });
      expect(answer.body).not.toMatch(/secret/);
      expect(errors.at(-1)).toMatchObject({ facts: { request_id: requestId } });
    }
    expect(errors.map(({ cause }) => (cause as Error).message)).toEqual(['ENOENT: /data/secret.db', 'sk-secret']);
  });

  test('U-050: a broken path, and bytes that are no HTTP, get the envelope', async () => {
    const { port } = await serve();
    const broken = [
      httpText('GET /v1/things/%zz'),
      'nonsense\r\n\r\n',
      'FOO /v1/uhp HTTP/1.1\r\n\r\n',
      httpText('GET /v1/uhp', { 'X-Big': 'x'.repeat(20_000) }),
      httpText('POST /v1/things/a', { 'Content-Length': '-1' }),
      httpText('POST /v1/things/a', { 'Content-Length': '2', 'Transfer-Encoding': 'chunked' }, '{}'),
      httpText('POST /v1/things/a', { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }, 'zz\r\n'),
    ];
    for (const bytes of broken) expectEnvelope(await sendRaw(port, bytes), 400, 'invalid_input');
  });

  test('U-050: what Node would answer by itself comes in our form, too', async () => {
    const { port } = await serve();
    const noHost = await sendRaw(
      port,
      `GET /v1/nowhere HTTP/1.1\r\nConnection: close\r\nAuthorization: ${authorization}\r\n\r\n`,
    );
    expectEnvelope(noHost, 404, 'reins_route_not_found');
    expectEnvelope(
      await sendRaw(port, httpText('GET /v1/nowhere', { Expect: 'wonders' })),
      404,
      'reins_route_not_found',
    );
    const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket' };
    expect((await sendRaw(port, httpText('GET /v1/uhp', upgrade).replace('HTTP/1.1', 'HTTP/1.0'))).status).toBe(200);
  });

  test('B030: a client that drips its headers is cut', async () => {
    const { port } = await serve({ headersMs: 50 });
    expectEnvelope(await sendRaw(port, 'GET /v1/uhp HTTP/1.1\r\nX-'), 400, 'invalid_input');
  });

  test('B030: an idle connection outlives the idle limit of common proxies', async () => {
    const { port } = await serve();
    const first = await sendRaw(port, httpText('GET /v1/uhp', { Connection: 'keep-alive' }) + httpText('GET /v1/uhp'));
    expect(first.headers.get('keep-alive')).toBe('timeout=72');
  });

  test('B039: a waiting call whose client goes away ends, without a fault', async () => {
    const { url, errors, state, server } = await serve();
    const abort = new AbortController();
    const answer = fetch(`${url}/v1/waits/a`, { headers: { authorization }, signal: abort.signal });
    await until(() => state.waiting === 1);
    abort.abort();
    await expect(answer).rejects.toThrow();
    await until(() => state.gone === 1 && server.openCalls === 0);
    expect(errors).toEqual([]);
  });
});

describe('closing', () => {
  test('streams end in order, waiting calls are refused, and nobody is let in any more', async () => {
    const { url, server, state } = await serve();
    const stream = await fetch(`${url}/v1/streams/a`, { headers: { authorization } });
    const waiting = fetch(`${url}/v1/waits/a`, { headers: { authorization } });
    await until(() => state.waiting === 1);
    await server.close();
    expect(await stream.text()).toBe('id: 0\ndata: {}\n\n');
    expect((await waiting).status).toBe(503);
    await expect(fetch(`${url}/v1/uhp`)).rejects.toThrow();
  });

  test('a client that hangs on is cut after the grace time', async () => {
    const { port, server } = await serve();
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve) => socket.write('POST /v1/things/a HTTP/1.1\r\nHost: a\r\n', resolve));
    await until(() => socket.bytesWritten > 0);
    const closed = server.close(5_000);
    socket.on('error', () => {});
    const cut = new Promise((resolve) => socket.on('close', resolve));
    await clock.advance(5_000);
    await Promise.all([closed, cut]);
    expect(clock.pending).toBe(0);
  });
});
