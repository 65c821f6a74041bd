// What a supervisor, a Prometheus and a browser of another origin get of a whole server.

import { afterEach, expect, test } from 'vitest';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function open(settings: Readonly<Record<string, unknown>> = {}): Promise<RunningServer> {
  const server = await startServer(settings);
  cleanups.push(() => server.close());
  return server;
}

const figuresOf = async (server: RunningServer) => String((await server.call('GET', '/metrics')).body['text']);

test('the figures count tasks, streams and transactions, and hold nothing that people chose', async () => {
  const server = await open();
  const answer = await fetch(`${server.url}/v1/responses`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ input: 'a private word', stream: true, model: 'demo' }),
  });
  const text = await answer.text();
  const id = /"id":"(resp_[^"]+)"/.exec(text)?.[1] ?? 'no id';
  const figures = await figuresOf(server);
  expect(figures).toContain('reins_tasks_started_total{base="native"} 1');
  expect(figures).toContain('reins_tasks_ended_total{status="completed"} 1');
  expect(figures).toContain('reins_tasks_running 0');
  expect(figures).toContain('reins_tasks_taken_over_total 0');
  expect(figures).toContain('reins_webhook_deliveries_pending 0');
  expect(Number(/reins_lease_age_seconds ([\d.]+)/.exec(figures)?.[1])).toBeLessThan(30);
  expect(figures).toContain('reins_open_streams{route="/v1/responses"} 0');
  expect(figures).toContain('reins_first_event_seconds_count 1');
  expect(figures).toMatch(/reins_log_commit_seconds_count [1-9]/);
  expect(figures).toMatch(/nodejs_eventloop_lag_p99_seconds \d/);
  for (const secret of ['private', id, 'owner']) expect(figures).not.toContain(secret);
});

test('U-040: figures need a key that may administer; who asks whether it lives needs none', async () => {
  const server = await open();
  expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
  const made = await server.call('POST', '/v1/reins/keys', { principal: 'ada' });
  expect((await server.call('GET', '/metrics', undefined, String(made.body['key']))).status).toBe(403);
  for (const path of ['/healthz', '/readyz'])
    expect(await (await fetch(`${server.url}${path}`)).json()).toEqual({
      status: 'ok',
      node: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
});

test('each of two servers in one process has figures of its own', async () => {
  const [busy, idle] = [await open(), await open()];
  await busy.call('POST', '/v1/responses', { input: 'x', model: 'demo' });
  const nodes = await Promise.all(
    [busy, idle].map(async (server) => {
      const probe = (await (await fetch(`${server.url}/readyz`)).json()) as { node: string };
      expect(await figuresOf(server)).toContain(`reins_node_info{node="${probe.node}"`);
      return probe.node;
    }),
  );
  expect(new Set(nodes).size).toBe(2);
  expect(await figuresOf(busy)).toContain('reins_tasks_started_total{base');
  expect(await figuresOf(idle)).not.toContain('reins_tasks_started_total{base');
});

test('U-426: an answer says that it is not to be guessed at, framed, kept or told of', async () => {
  const server = await open({ server: { publicUrl: 'https://reins.example' } });
  for (const path of ['/v1/models', '/v1/nothing', '/v1/uhp', '/docs']) {
    const { headers } = await server.call('GET', path);
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000',
    });
  }
});

test('a page of a listed origin may call and read; of any other, or where none is listed, it may not', async () => {
  const origin = 'https://app.example';
  const [server, closed] = [await open({ server: { allowedOrigins: [origin] } }), await open()];
  const ask = (url: string, from: string, init: { method?: string; headers?: Record<string, string> } = {}) =>
    fetch(`${url}/v1/uhp`, { ...init, headers: { Origin: from, ...init.headers } });
  const preflight = { method: 'OPTIONS', headers: { 'Access-Control-Request-Method': 'POST' } };

  const allowed = await ask(server.url, origin, preflight);
  expect(allowed.status).toBe(204);
  expect(allowed.headers.get('access-control-allow-origin')).toBe(origin);
  expect(allowed.headers.get('access-control-allow-headers')).toMatch(/Authorization.*UHP-Version.*Last-Event-ID/);
  const answer = await ask(server.url, origin);
  expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
  expect(answer.headers.get('access-control-expose-headers')).toContain('Idempotent-Replayed');
  expect(answer.headers.get('vary')).toBe('Origin');
  expect(answer.headers.has('access-control-allow-credentials')).toBe(false);

  for (const refused of [await ask(server.url, 'https://app.example.evil', preflight), await ask(closed.url, origin)])
    expect(refused.headers.has('access-control-allow-origin')).toBe(false);
  expect((await ask(server.url, 'null', preflight)).status).toBe(405);
});
