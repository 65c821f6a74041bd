// Requests that are refused: the right status, code and field, one safe sentence, and nothing left behind.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countRows } from './support/rows.ts';
import { needsOneServer } from './support/cluster-in-process.ts';
import { key } from './support/uhp.ts';
import { once } from 'node:events';
import { connect } from 'node:net';
import { startedFolder } from './support/folders.ts';
import { startServer, type TestServer } from './support/server.ts';

let data: string;
let server: TestServer;
beforeAll(async () => {
  data = await startedFolder();
  server = await startServer({ data, settings: { limits: { maxBodyBytes: 200_000, maxTimeoutSeconds: 7200 } } });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Sends what must be refused, with a key, which must be free afterwards (UD-13). */
async function refused(body: unknown, headers: Record<string, string> = {}) {
  const before = countRows(data);
  const answer = await server.uhp.send('POST', '/v1/responses', {
    body,
    headers: { 'idempotency-key': 'free', ...headers },
  });
  expect(countRows(data)).toEqual(before);
  expect(answer.headers.get('uhp-version')).toMatch(/^\d{4}-\d\d-\d\d$/);
  expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  expect(Object.keys(answer.body)).toEqual(['error']);
  expect(Object.keys(answer.body.error ?? {}).toSorted()).toEqual(['code', 'detail', 'message', 'param', 'type']);
  expect(answer.body.error?.message).toMatch(/^[^\n]{5,300}$/);
  expect(answer.body.error?.message).not.toMatch(/\/(src|home|tmp|work)\/|node_modules/);
  return { status: answer.status, code: answer.code, param: answer.param };
}

const invalid = (param: string | null) => ({ status: 400, code: 'invalid_input', param });
const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('fields of a wrong type or value', () => {
  test.each<[object, string]>([
    [{}, 'input'],
    [{ input: null }, 'input'],
    [{ input: '' }, 'input'],
    [{ input: [] }, 'input'],
    [{ input: {} }, 'input'],
    [{ input: 7 }, 'input'],
    [{ input: true }, 'input'],
    [{ input: ['x'] }, 'input[0]'],
    [{ input: [{ role: 'system', content: 'only this' }] }, 'input'],
    [{ input: [{ role: 'user', content: '' }] }, 'input'],
    [{ input: [{ role: 'user', content: [] }] }, 'input'],
    [{ input: [{ role: 'robot', content: 'x' }] }, 'input[0].role'],
    [{ input: [{ content: 'x' }] }, 'input[0].role'],
    [{ input: [{ role: 'user' }] }, 'input[0].content'],
    [{ input: [{ role: 'user', content: 7 }] }, 'input[0].content'],
    [{ input: [{ type: 'function_call_output', call_id: 'x', output: 'y' }] }, 'input[0].type'],
    [{ input: [{ role: 'user', content: [{ type: 'audio' }] }] }, 'input[0].content[0].type'],
    [{ input: [{ role: 'user', content: [{ type: 'input_text', text: 7 }] }] }, 'input[0].content[0].text'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'http://x' }] }] },
      'input[0].content[0].file_data',
    ],
    [{ input: 'x', model: 7 }, 'model'],
    [{ input: 'x', stream: 'true' }, 'stream'],
    [{ input: 'x', store: 1 }, 'store'],
    [{ input: 'x', background: 'no' }, 'background'],
    [{ input: 'x', instructions: {} }, 'instructions'],
    [{ input: 'x', metadata: [] }, 'metadata'],
    [{ input: 'x', metadata: 'm' }, 'metadata'],
    [{ input: 'x', metadata: { harness_id: 7 } }, 'metadata.harness_id'],
    [{ input: 'x', previous_response_id: 7 }, 'previous_response_id'],
    [{ input: 'x', max_step: 0 }, 'max_step'],
    [{ input: 'x', max_step: -1 }, 'max_step'],
    [{ input: 'x', max_step: 1.5 }, 'max_step'],
    [{ input: 'x', max_step: '3' }, 'max_step'],
    [{ input: 'x', max_output_tokens: 0 }, 'max_output_tokens'],
    [{ input: 'x', max_output_tokens: -5 }, 'max_output_tokens'],
    [{ input: 'x', timeout_seconds: 0 }, 'timeout_seconds'],
    [{ input: 'x', timeout_seconds: -1 }, 'timeout_seconds'],
    [{ input: 'x', timeout_seconds: 7201 }, 'timeout_seconds'],
    [{ input: 'x', timeout_seconds: 1e30 }, 'timeout_seconds'],
  ])('UD-45, UD-09, UD-42: %j', async (body, param) => {
    expect(await refused(body)).toEqual(invalid(param));
    expect(await refused({ ...body, stream: 'stream' in body ? body.stream : true })).toEqual(invalid(param));
  });
});

test('UD-29: metadata over 64 KiB', async () => {
  expect(await refused({ input: 'x', metadata: { big: 'm'.repeat(65_536) } })).toEqual(invalid('metadata'));
});

describe('bodies that are none', () => {
  test.each<[string, unknown]>([
    ['no JSON', '{"input": "x"'],
    ['a lone word', 'input'],
    ['a list', '[]'],
    ['a string', '"x"'],
    ['null', 'null'],
    ['nothing', ''],
    ['NaN', '{"input": NaN}'],
    ['deep nesting', { input: 'x', metadata: { deep: deep(100) } }],
    ['very deep nesting', `{"input":"x","metadata":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`],
    ['very deep lists', `{"input":${'['.repeat(90_000)}${']'.repeat(90_000)}}`],
  ])('%s', async (_, body) => {
    expect(await refused(body)).toMatchObject({ status: 400, code: 'invalid_input' });
  });

  test('UD-63: too large a body names the limit', async () => {
    const before = countRows(data);
    const answer = await server.uhp.create({ input: 'x'.repeat(200_000) });
    expect(answer).toMatchObject({
      status: 413,
      code: 'file_too_large',
      body: { error: { detail: { max_bytes: 200_000 } } },
    });
    expect(countRows(data)).toEqual(before);
  });

  test('UD-63: who sends the whole of it before reading hears that too', async () => {
    needsOneServer('it is about the socket of the server itself');
    const body = Buffer.alloc(1_000_000, 'x');
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    const head = ['POST /v1/responses HTTP/1.1', 'Host: x', `Authorization: Bearer ${key}`];
    const length = [`Content-Length: ${20 * body.length}`, 'Content-Type: application/json', '', ''];
    socket.write([...head, ...length].join('\r\n'));
    for (let sent = 0; sent < 20; sent++)
      await new Promise<void>((resolve, reject) => {
        socket.write(body, (cause) => (cause ? reject(cause) : resolve()));
      });
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  test('bytes that are no UTF-8 are refused, or read with a mark in their place; never kept as they are', async () => {
    const bytes = new Uint8Array([
      ...new TextEncoder().encode('{"input":"Reply with exactly: a'),
      0xff,
      0xc3,
      ...new TextEncoder().encode('b"}'),
    ]);
    const answer = await server.uhp.send('POST', '/v1/responses', { body: bytes });
    if (answer.status === 200) expect(JSON.stringify(answer.body)).toContain('a\ufffd');
    else expect(answer).toMatchObject({ status: 400, code: 'invalid_input' });
  });

  test('a body of another kind is refused', async () => {
    expect(await refused('input=x', { 'content-type': 'application/x-www-form-urlencoded' })).toMatchObject({
      status: 400,
    });
    expect(await refused('{"input":"x"}', { 'content-type': 'text/plain' })).toMatchObject({ status: 400 });
  });
});

test('B002, E-106: half a surrogate pair becomes U+FFFD and runs', async () => {
  const answer = await server.uhp.send('POST', '/v1/responses', {
    body: String.raw`{"input":"Reply with exactly: a\ud83db"}`,
  });
  expect(answer).toMatchObject({ status: 200, body: { output: [{ content: [{ text: 'a\ufffdb' }] }] } });
});

test('__proto__ and constructor are keys like others, and poison nothing', async () => {
  const body =
    '{"input":"Reply with exactly: ok","__proto__":{"store":false,"x":1},"constructor":{"prototype":{"y":1}},"metadata":{"__proto__":{"session_id":"mine"},"toString":"t"}}';
  const answer = await server.uhp.send('POST', '/v1/responses', { body });
  expect(answer).toMatchObject({ status: 200, body: { store: true, metadata: { toString: 't' } } });
  expect(answer.body.metadata.session_id).toMatch(/^hsess/);
  expect({}).not.toHaveProperty('x');
  expect({}).not.toHaveProperty('y');
});

test('U-230: a model that cannot be served is refused before anything starts', async () => {
  for (const model of ['no-such-model', 'claude-opus-5.5', 'openai/gpt', 'openai/', '../x'])
    expect(await refused({ input: 'x', model })).toEqual({ status: 422, code: 'model_unavailable', param: 'model' });
});

test('U-021, U-023: an unknown version is refused first, and the answer names the known ones', async () => {
  for (const version of ['2020-01-01', 'latest', '2026-08-11 ', '2026-08-11, 2026-09-12']) {
    const answer = await server.uhp.send('POST', '/v1/responses', {
      body: { input: 7 },
      headers: { 'uhp-version': version },
    });
    if (version.trim() === '2026-08-11') continue; // white space around a header is not part of it
    expect(answer).toMatchObject({ status: 400, code: 'unsupported_protocol_version' });
    expect((answer.body.error as unknown as { detail: { supported: string[] } }).detail.supported).toContain(
      '2026-08-11',
    );
  }
  const old = await server.uhp.create({ input: 'Reply with exactly: ok' }, { 'uhp-version': '2026-08-11' });
  expect(old.headers.get('uhp-version')).toBe('2026-08-11');
});

test('U-041: credentials that are missing or wrong are refused before the body is read', async () => {
  const send = (authorization?: string) =>
    fetch(`${server.url}/v1/responses`, {
      method: 'POST',
      body: '{',
      headers: authorization === undefined ? {} : { authorization },
    });
  const codes = await Promise.all(
    [undefined, 'Bearer wrong', 'Bearer', 'Basic eDp5', 'bearer '].map(async (header) => {
      const answer = await send(header);
      return [answer.status, ((await answer.json()) as { error: { code: string } }).error.code];
    }),
  );
  expect(codes).toEqual([
    [401, 'missing_credential'],
    ...Array.from({ length: 4 }, () => [401, expect.stringMatching(/credential/)]),
  ]);
});

test('UD-64: an unknown path and a wrong method say so', async () => {
  expect(await server.uhp.send('GET', '/v1/nothing')).toMatchObject({ status: 404, code: 'reins_route_not_found' });
  const wrong = await server.uhp.send('GET', '/v1/responses');
  expect(wrong).toMatchObject({ status: 405, code: 'reins_method_not_allowed' });
  expect(wrong.headers.get('allow')).toBe('POST');
});

test('UD-13: the key of all these requests is still free', async () => {
  const answer = await server.uhp.create({ input: 'Reply with exactly: ok' }, { 'idempotency-key': 'free' });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('idempotent-replayed')).toBeNull();
});
