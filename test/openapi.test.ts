// The published description against what really goes over the wire (B024).

import { afterEach, expect, test } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { startServer, type RunningServer } from './support/in-process-server.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

type Json = Record<string, unknown>;
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: Record<string, { content: Json }> }>>>>;
}

async function open(): Promise<RunningServer> {
  const server = await startServer();
  cleanups.push(() => server.close());
  return server;
}

async function documented(server: RunningServer) {
  const document = (await (await fetch(`${server.url}/v1/reins/openapi.json`)).json()) as Document & Json;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'doc', ...document });
  const pointer = (...keys: string[]) =>
    `doc#/${keys.map((key) => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
  const patterns = Object.keys(document.paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));
  return {
    document,
    /** Faults of one answer by the description; null: it is as described. */
    check(method: string, url: string, answer: { status: number; body: unknown }): string | null {
      const plain = url.split('?')[0] ?? '';
      const path =
        patterns.find((each) => each.path === plain)?.path ?? patterns.find(({ pattern }) => pattern.test(plain))?.path;
      if (path === undefined || document.paths[path]?.[method.toLowerCase()] === undefined)
        return `${method} ${url} is not described`;
      const status = answer.status === 200 ? '200' : 'default';
      const validate = ajv.getSchema(
        pointer('paths', path, method.toLowerCase(), 'responses', status, 'content', 'application/json', 'schema'),
      );
      if (validate === undefined) return `${method} ${path} has no JSON answer`;
      return validate(answer.body) === true ? null : `${method} ${path}: ${ajv.errorsText(validate.errors)}`;
    },
    checkEvent(event: unknown): string | null {
      const validate = ajv.getSchema(pointer('components', 'schemas', 'Event'));
      return validate?.(event) === true ? null : ajv.errorsText(validate?.errors);
    },
  };
}

test('every route is described, and nothing else is; every reference of the document leads somewhere', async () => {
  const server = await open();
  const { document } = await documented(server);
  for (const [path, methods] of Object.entries(document.paths))
    for (const method of Object.keys(methods)) {
      const url = path.replaceAll(/\{\w+\}/g, 'none');
      const { status, body } = await server.call(
        method.toUpperCase(),
        url,
        method === 'get' || method === 'delete' ? undefined : {},
      );
      expect([method, path, (body['error'] as { code: string } | undefined)?.code]).not.toEqual([
        method,
        path,
        'reins_route_not_found',
      ]);
      expect([method, path, status]).not.toEqual([method, path, 405]);
    }
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(
    (found) => found[1],
  );
  const schemas = (document['components'] as { schemas: Json }).schemas;
  expect(references.filter((name) => schemas[name ?? ''] === undefined)).toEqual([]);
  const page = await fetch(`${server.url}/docs`);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(await page.text()).toContain('/v1/responses/{id}/cancel');
});

test('B024: recorded traffic is as the description says, errors and events included; a wrong type is noticed', async () => {
  const server = await open();
  const described = await documented(server);
  const faults: (string | null)[] = [];
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await server.call(method, path, body);
    faults.push(described.check(method, path, answer));
    return answer.body;
  };
  for (const path of ['/v1/uhp', '/v1/harnesses', '/v1/models', '/healthz', '/v1/reins/usage', '/v1/reins/keys'])
    await call('GET', path);
  const harness = await call('POST', '/v1/harnesses', {
    base: 'native',
    name: 'mine',
    mcp_servers: [{ name: 'a', url: 'https://a.example', auth: 'x' }],
  });
  const one = `/v1/harnesses/${String(harness['id'])}`;
  await call('PUT', one, { name: 'yours' });
  for (const path of [one, `${one}/models`, `${one}/plugin`, '/v1/harnesses/none']) await call('GET', path);
  const task = await call('POST', '/v1/responses', { input: 'Create a file named a.txt containing exactly: x' });
  const session = String((task['metadata'] as Json)['session_id']);
  const response = `/v1/responses/${String(task['id'])}`;
  for (const path of [
    response,
    `${response}/input_items`,
    '/v1/sessions?limit=1',
    `/v1/sessions/${session}`,
    `/v1/sessions/${session}/turns`,
  ])
    await call('GET', path);
  const files = await call('GET', `/v1/sessions/${session}/files`);
  const [file] = files['files'] as { id: string; container_id: string }[];
  await call('GET', `/v1/containers/${file?.container_id}/files/none/content`).catch(() => {});
  await call('PATCH', `/v1/reins/sessions/${session}`, { title: 'Mine' });
  await call('PATCH', `/v1/reins/sessions/${session}`, { title: ' ' });
  for (const verb of ['pause', 'resume']) await call('POST', `/v1/reins/responses/${String(task['id'])}/${verb}`);
  const share = await call('POST', `/v1/sessions/${session}/share`);
  await call('GET', `/v1/sessions/${session}/share`);
  await call('GET', String(share['url']));
  await call('DELETE', `/v1/sessions/${session}/share`);
  await call('POST', `${response}/cancel`);
  await call('POST', `/v1/sessions/${session}/cancel`);
  await call('POST', '/v1/responses', { input: '' });
  await call('POST', '/v1/responses', { input: 'x', model: 'nope' });
  const hook = await call('POST', '/v1/reins/webhooks', { url: 'https://example.com/hook' });
  for (const path of [
    '/v1/reins/webhooks',
    `/v1/reins/webhooks/${String(hook['id'])}`,
    `/v1/reins/webhooks/${String(hook['id'])}/deliveries`,
  ])
    await call('GET', path);
  for (const path of [
    '/v1/reins/approvals',
    '/v1/reins/approvals/none',
    '/v1/reins/rules',
    '/v1/reins/audit',
    `/v1/reins/sessions/${session}/queue`,
  ])
    await call('GET', path);
  await call('POST', `/v1/reins/sessions/${session}/queue`, { input: 'Reply with exactly: ok' });
  await call('DELETE', `/v1/sessions/${session}`);
  await call('DELETE', one);
  const { body: streamed } = await server.call('POST', '/v1/responses', {
    input: 'Create a file named b.txt containing exactly: y',
    stream: true,
  });
  const events = String(streamed['text'])
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)));
  expect(events.length).toBeGreaterThan(5);
  faults.push(...events.map((event) => described.checkEvent(event)));
  expect(faults.filter((fault) => fault !== null && !fault.includes('has no JSON answer'))).toEqual([]);
  const wrong = { ...(await server.call('GET', '/v1/uhp')), status: 200 };
  expect(described.check('GET', '/v1/uhp', { ...wrong, body: { ...wrong.body, versions: 'all' } })).toContain(
    'versions',
  );
  expect(described.checkEvent({ ...events[0], sequence_number: '0' })).not.toBeNull();
});
