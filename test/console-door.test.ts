// The console's page and its cookie over real sockets (C-062, B127).

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect } from 'node:net';
import { consolePolicy } from '../src/http/send-console-file.ts';
import { ensureConsoleBuilt } from './support/console-build.ts';
import { startConsoleServer } from './support/console-page.ts';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';

const path = '/v1/reins/console/session';
let server: RunningServer;
beforeAll(async () => {
  await ensureConsoleBuilt();
  server = await startServer();
}, 60_000);
afterAll(() => server.close());

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

const send = (to: string, { method = 'GET', headers = {}, body }: Sent = {}) =>
  fetch(`${server.url}${to}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const codeOf = async (answer: Response) => [
  answer.status,
  ((await answer.json()) as { error?: { code: string } }).error?.code ?? null,
];

async function signIn(key = ownerKey): Promise<{ readonly Cookie: string }> {
  const answer = await send(path, { method: 'POST', headers: { Origin: server.url }, body: { key } });
  expect(answer.status).toBe(200);
  return { Cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

describe('the page', () => {
  test('it comes at each of its addresses, under the strict policy, and is asked for again each time', async () => {
    const pages = await Promise.all(['/', '/?x=1', '/s/hsess_1'].map((address) => send(address)));
    for (const page of pages) {
      expect(page.status).toBe(200);
      expect(Object.fromEntries(page.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': consolePolicy,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-cache',
      });
    }
    const etag = pages[0]?.headers.get('etag') ?? '';
    const again = await send('/', { headers: { 'If-None-Match': etag } });
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag]);
    const head = await send('/', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
  });

  test('what it loads is kept for ever, compressed as the browser likes it, and has no line of script or style inside', async () => {
    const html = await (await send('/')).text();
    expect(html).not.toMatch(/<style|<script(?![^>]*\ssrc=)|\son\w+=|\sstyle=/);
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)?.[1] ?? '';
    const bodies = new Set<string>();
    for (const encoding of ['br', 'gzip', 'identity']) {
      const asset = await send(script, { headers: { 'Accept-Encoding': encoding } });
      expect(Object.fromEntries(asset.headers)).toMatchObject({
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
        vary: 'Accept-Encoding',
      });
      expect(asset.headers.get('content-encoding')).toBe(encoding === 'identity' ? null : encoding);
      bodies.add(await asset.text());
    }
    expect(bodies.size).toBe(1);
  });

  test('the rest of the interface is as it was: JSON, also where nothing is', async () => {
    const html = { Accept: 'text/html' };
    expect(await codeOf(await send('/assets/none.js', { headers: html }))).toEqual([404, 'file_not_found']);
    expect(await codeOf(await send('/assets/..%2findex.html', { headers: html }))).toEqual([404, 'file_not_found']);
    expect(await codeOf(await send('/none', { headers: html }))).toEqual([404, 'reins_route_not_found']);
    expect(await codeOf(await send('/v1/none', { headers: html }))).toEqual([401, 'missing_credential']);
    expect(await codeOf(await send('/', { method: 'POST' }))).toEqual([405, 'reins_method_not_allowed']);
  });
});

describe('the cookie', () => {
  test('it takes the place of a key on every route, with the scopes of that key, and says whose it is', async () => {
    const { body } = await server.call('POST', '/v1/reins/keys', { principal: 'ada', scopes: ['read'] });
    const cookie = await signIn(String(body['key']));
    expect(await (await send(path, { headers: cookie })).json()).toEqual({
      object: 'reins.console_session',
      principal: 'ada',
      scopes: ['read'],
      expires_at: expect.any(Number),
    });
    expect((await send('/v1/sessions', { headers: cookie })).status).toBe(200);
    const write = { method: 'POST', headers: { ...cookie, Origin: server.url }, body: { input: 'x' } };
    expect(await codeOf(await send('/v1/responses', write))).toEqual([403, 'insufficient_scope']);
    await server.call('DELETE', `/v1/reins/keys/${String(body['id'])}`);
    expect(await codeOf(await send('/v1/sessions', { headers: cookie }))).toEqual([401, 'missing_credential']);
    expect(await (await send(path, { headers: cookie })).json()).toMatchObject({ principal: null, scopes: [] });
  });

  test('a write with it from another origin, or from none, is refused on every route and does nothing', async () => {
    const cookie = await signIn();
    const before = (await server.call('GET', '/v1/sessions')).body;
    for (const origin of [undefined, 'null', 'http://evil.example', server.url.replace('http:', 'ftp:')]) {
      const headers = { ...cookie, ...(origin === undefined ? {} : { Origin: origin }) };
      for (const [method, to] of [
        ['POST', '/v1/responses'],
        ['POST', '/api/agent'],
        ['PUT', '/v1/harnesses/x'],
        ['DELETE', '/v1/sessions/x'],
      ] as const) {
        const answer = await send(to, { method, headers, ...(method === 'DELETE' ? {} : { body: { input: 'x' } }) });
        expect([to, answer.status]).toEqual([to, 403]);
      }
      for (const method of ['POST', 'DELETE'])
        expect(await codeOf(await send(path, { method, headers }))).toEqual([403, 'reins_foreign_origin']);
    }
    expect((await server.call('GET', '/v1/sessions')).body).toEqual(before);
    const own = {
      method: 'POST',
      headers: { ...cookie, Origin: server.url },
      body: { input: 'Reply with exactly: ok' },
    };
    expect((await send('/v1/responses', own)).status).toBe(200);
  });

  test('a key in the header counts before it', async () => {
    const cookie = await signIn();
    const headers = { ...cookie, Authorization: 'Bearer rk_unknown' };
    expect(await codeOf(await send('/v1/sessions', { headers }))).toEqual([401, 'invalid_credential']);
  });

  test('signing out ends the session, not only the cookie; signing in again ends the one before', async () => {
    const [first, other] = [await signIn(), await signIn()];
    const headers = { ...first, Origin: server.url };
    const second = await send(path, { method: 'POST', headers, body: { key: ownerKey } });
    expect((await send('/v1/sessions', { headers: first })).status).toBe(401);
    const cookie = { Cookie: second.headers.get('set-cookie')?.split(';')[0] ?? '' };
    const out = await send(path, { method: 'DELETE', headers: { ...cookie, Origin: server.url } });
    expect(out.headers.get('set-cookie')).toMatch(/^reins_console_\d+=; .*Max-Age=0/);
    expect((await send('/v1/sessions', { headers: cookie })).status).toBe(401);
    expect((await send('/v1/sessions', { headers: other })).status).toBe(200);
  });

  test.each([
    [{}, 400, 'invalid_input'],
    [{ key: ownerKey, ticket: 'x' }, 400, 'invalid_input'],
    [{ key: 7 }, 400, 'invalid_input'],
    [{ key: 'rk_unknown' }, 401, 'invalid_credential'],
    [{ ticket: 'unknown' }, 401, 'reins_ticket_invalid'],
    [{ key: 'x'.repeat(5_000) }, 413, 'file_too_large'],
  ])('signing in with %j sets none', async (body, status, code) => {
    const answer = await send(path, { method: 'POST', headers: { Origin: server.url }, body });
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(await codeOf(answer)).toEqual([status, code]);
  });
});

test('UR-54: who signed in is in the audit log, with nothing of the key', async () => {
  await signIn();
  const { body } = await server.call('GET', '/v1/reins/audit?action=console.sign-in&limit=1');
  expect(JSON.stringify(body)).toContain('"console.sign-in"');
  expect(JSON.stringify(body)).not.toContain(ownerKey);
});

test('K3: the page of a server on another port does not sign this one out', async () => {
  await using second = await startServer();
  const answer = await fetch(`${second.url}${path}`, {
    method: 'POST',
    headers: { Origin: second.url, 'Content-Type': 'application/json' },
    body: JSON.stringify({ key: ownerKey }),
  });
  const [first, other] = [await signIn(), answer.headers.get('set-cookie')?.split(';')[0] ?? ''];
  expect(first.Cookie.split('=')[0]).not.toBe(other.split('=')[0]);
  expect((await send('/v1/sessions', { headers: { Cookie: `${first.Cookie}; ${other}` } })).status).toBe(200);
  expect((await send('/v1/sessions', { headers: { Cookie: other } })).status).toBe(401);
});

test('a session outlives the server', async () => {
  const { dataDir } = server;
  const cookie = await signIn();
  await using again = await startServer({}, dataDir);
  // The cookie is named for the port, which a test cannot choose.
  const moved = cookie.Cookie.replace(/\d+/, new URL(again.url).port);
  expect((await fetch(`${again.url}/v1/sessions`, { headers: { Cookie: moved } })).status).toBe(200);
});

test('S3: what a proxy passes on is not from this machine, and uses the ticket of nobody up', async () => {
  await using other = await startConsoleServer();
  const ticket = new URL(other.consoleUrl).hash.replace('#ticket=', '');
  const signInWith = (headers: Readonly<Record<string, string>>) =>
    fetch(`${other.url}${path}`, {
      method: 'POST',
      headers: { Origin: other.url, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ ticket }),
    });
  for (const headers of [{ 'X-Forwarded-For': '127.0.0.1' }, { Forwarded: 'for=127.0.0.1' }])
    expect(await codeOf(await signInWith(headers))).toEqual([401, 'reins_ticket_invalid']);
  expect(await (await signInWith({})).json()).toMatchObject({ principal: 'owner' });
  expect(await codeOf(await signInWith({}))).toEqual([401, 'reins_ticket_invalid']);
});

test('two cookie headers are no way round the check', async () => {
  const { Cookie } = await signIn();
  const { hostname, port } = new URL(server.url);
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `DELETE /v1/sessions/x HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: a=b\r\nCookie: ${Cookie}\r\nConnection: close\r\n\r\n`,
      ),
    );
    let said = '';
    socket.setEncoding('utf8').on('data', (piece: string) => (said += piece));
    socket.on('end', () => resolve(said)).on('error', reject);
  });
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
});
