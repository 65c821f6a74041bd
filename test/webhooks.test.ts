// Webhooks over a real server and real receivers (UR-40, UR-41, UR-50 to UR-52).

import { createServer, type IncomingHttpHeaders } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { startServer, type RunningServer } from './support/in-process-server.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** Answers each POST with what `status` gives; null = never. */
async function receiver(status: (nth: number) => number | null) {
  const received: Received[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      const code = status(received.length);
      if (code !== null) response.writeHead(code).end();
      for (const wake of waiting.splice(0)) wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    async atLeast(count: number): Promise<readonly Received[]> {
      while (received.length < count) await new Promise<void>((resolve) => waiting.push(resolve));
      return received;
    },
  };
}

async function open(): Promise<RunningServer> {
  const server = await startServer();
  cleanups.push(() => server.close());
  return server;
}

test('UR-50: the end of a task is told once, signed by the Standard Webhooks rules, without a word of its content', async () => {
  const [server, hook] = [await open(), await receiver(() => 204)];
  const made = await server.call('POST', '/v1/reins/webhooks', { url: hook.url });
  expect(made.body).toMatchObject({ object: 'reins.webhook', url: hook.url, events: null, enabled: true });
  const task = await server.call('POST', '/v1/responses', { input: 'Reply with exactly: ok' });
  const [{ headers, body }] = (await hook.atLeast(1)) as [Received];
  const secret = String(made.body['secret']);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const text = { ...headers } as Record<string, string>;
  expect(new Webhook(secret).verify(body, text)).toMatchObject({
    type: 'response.completed',
    data: {
      response_id: task.body['id'],
      session_id: (task.body['metadata'] as Record<string, unknown>)['session_id'],
      status: 'completed',
    },
  });
  expect(Object.keys(JSON.parse(body).data).toSorted()).toEqual(['harness_id', 'response_id', 'session_id', 'status']);
  const id = String(made.body['id']);
  expect(JSON.stringify((await server.call('GET', `/v1/reins/webhooks/${id}`)).body)).not.toContain(secret);
  await server.until(async () => {
    const { body: page } = await server.call('GET', `/v1/reins/webhooks/${id}/deliveries`);
    const [delivery] = page['deliveries'] as Record<string, unknown>[];
    return delivery?.['status'] === 'delivered' && delivery['attempt'] === 1;
  });
  expect(hook.received).toHaveLength(1);
});

test('UR-40: only the events that were asked for are sent, a cancelled task as cancelled', async () => {
  const [server, hook] = [await open(), await receiver(() => 200)];
  await server.call('POST', '/v1/reins/webhooks', { url: hook.url, events: ['response.cancelled'] });
  await server.call('POST', '/v1/responses', { input: 'Reply with exactly: ok' });
  const started = await server.call('POST', '/v1/responses', { input: 'Count slowly from 1 to 200', background: true });
  await server.call('POST', `/v1/responses/${String(started.body['id'])}/cancel`);
  const [first] = await hook.atLeast(1);
  expect(JSON.parse(first?.body ?? '{}')).toMatchObject({
    type: 'response.cancelled',
    data: { response_id: started.body['id'], status: 'cancelled' },
  });
});

test('UR-51: a refusal is tried again by the schedule under the same id, and 410 switches the webhook off', async () => {
  const server = await open();
  const hook = await receiver((nth) => (nth === 1 ? 503 : 410));
  const made = await server.call('POST', '/v1/reins/webhooks', { url: hook.url });
  const id = String(made.body['id']);
  await server.call('POST', '/v1/responses', { input: 'Reply with exactly: ok' });
  const [a, b] = await hook.atLeast(2);
  expect(a?.headers['webhook-id']).toBe(b?.headers['webhook-id']);
  await server.until(async () => (await server.call('GET', `/v1/reins/webhooks/${id}`)).body['enabled'] === false);
}, 20_000);

test('UR-51: a receiver that never answers delays neither another one nor a task', async () => {
  const server = await open();
  const [dead, alive] = [await receiver(() => null), await receiver(() => 200)];
  await server.call('POST', '/v1/reins/webhooks', { url: dead.url });
  await server.call('POST', '/v1/reins/webhooks', { url: alive.url });
  for (let task = 0; task < 5; task++) await server.call('POST', '/v1/responses', { input: 'Reply with exactly: ok' });
  expect(await alive.atLeast(5)).toHaveLength(5);
  expect(dead.received.length).toBeLessThanOrEqual(3);
});

test('UR-51: receivers of one principal that never answer do not delay those of another', async () => {
  const server = await open();
  const [dead, alive] = [await receiver(() => null), await receiver(() => 200)];
  const made = await server.call('POST', '/v1/reins/keys', { principal: 'ada', scopes: ['admin', 'manage', 'tasks'] });
  const ada = String(made.body['key']);
  for (let hook = 0; hook < 12; hook++) await server.call('POST', '/v1/reins/webhooks', { url: dead.url }, ada);
  await server.call('POST', '/v1/reins/webhooks', { url: alive.url });
  const { body } = await server.call('POST', '/v1/harnesses', { base: 'native' }, ada);
  const task = { input: 'Reply with exactly: ok', metadata: { harness_id: body['id'] } };
  for (let count = 0; count < 3; count++)
    expect((await server.call('POST', '/v1/responses', task, ada)).status).toBe(200);
  await dead.atLeast(8);
  await server.call('POST', '/v1/responses', { input: 'Reply with exactly: ok' });
  expect(await alive.atLeast(1)).toHaveLength(1);
  expect(dead.received).toHaveLength(8);
  const figures = String((await server.call('GET', '/metrics')).body['text']);
  expect(figures).toMatch(/^reins_webhook_deliveries_pending (3[67])$/m);
});

test('UR-40: a principal has twenty webhooks at most; one that is deleted makes room', async () => {
  const server = await open();
  const make = () => server.call('POST', '/v1/reins/webhooks', { url: 'https://example.com/' });
  const made = await Promise.all(Array.from({ length: 20 }, make));
  expect(made.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  const { status, body } = await make();
  const detail = { limit: 20 };
  expect([status, body['error']]).toEqual([409, expect.objectContaining({ code: 'reins_webhook_limit', detail })]);
  await server.call('DELETE', `/v1/reins/webhooks/${String(made[0]?.body['id'])}`);
  expect((await make()).status).toBe(200);
});

test('UR-41: a test is sent at once, and says how it went', async () => {
  const [server, hook] = [await open(), await receiver((nth) => (nth === 1 ? 200 : 500))];
  const made = await server.call('POST', '/v1/reins/webhooks', { url: hook.url, events: ['response.failed'] });
  const path = `/v1/reins/webhooks/${String(made.body['id'])}/test`;
  expect((await server.call('POST', path)).body).toMatchObject({
    event: 'reins.test',
    status: 'delivered',
    http_status: 200,
  });
  expect((await server.call('POST', path)).body).toMatchObject({
    status: 'failed',
    http_status: 500,
    next_attempt_at: null,
  });
});

test('UR-52: a url that is not https to a public place is refused at the door, and nothing is stored', async () => {
  const server = await open();
  const refused = [
    'http://example.com/x',
    'https://10.0.0.1/',
    'https://[::ffff:127.0.0.1]/',
    'ftp://example.com',
    'x',
    'https://u:p@example.com/',
  ];
  for (const url of refused) {
    const { status, body } = await server.call('POST', '/v1/reins/webhooks', { url });
    expect([url, status]).toEqual([url, 422]);
    expect(body).toMatchObject({ error: { code: 'reins_webhook_url_refused', param: 'url' } });
  }
  expect((await server.call('POST', '/v1/reins/webhooks', {})).status).toBe(400);
  expect((await server.call('POST', '/v1/reins/webhooks', { url: 'https://a.example', events: ['x'] })).status).toBe(
    400,
  );
  expect((await server.call('GET', '/v1/reins/webhooks')).body).toEqual({ webhooks: [] });
});
