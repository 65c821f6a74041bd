// What agents make, over real HTTP (U-080 to U-083, U-403 to U-408, UD-53 to UD-57).

import { afterEach, expect, test } from 'vitest';
import { createHash } from 'node:crypto';
import { fromBuffer } from 'yauzl';
import { startServer, type RunningServer } from './support/in-process-server.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function open(): Promise<RunningServer> {
  const server = await startServer();
  cleanups.push(() => server.close());
  return server;
}

const create = (name: string, content: string) => `Create a file named ${name} containing exactly: ${content}`;

async function get(server: RunningServer, path: string, headers: Record<string, string> = {}) {
  const response = await fetch(new URL(path, server.url), {
    headers: { Authorization: 'Bearer owner-key-of-this-test', ...headers },
  });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

test('X-06, X-07, UT-21: what a task made is cited on its last message, listed, and downloads byte for byte', async () => {
  const server = await open();
  const { body } = await server.call('POST', '/v1/responses', { input: create('notes.txt', 'artifact-ok') });
  expect(body['status']).toBe('completed');
  const session = (body['metadata'] as { session_id: string }).session_id;
  const { body: listed } = await server.call('GET', `/v1/sessions/${session}/files`);
  const files = listed['files'] as { id: string; container_id: string; filename: string; bytes: number }[];
  expect(files).toMatchObject([{ object: 'file', filename: 'notes.txt', bytes: 11 }]);
  const message = (body['output'] as { type: string; content?: { text: string; annotations: unknown[] }[] }[]).at(-1);
  const [annotation] = (message?.content?.[0]?.annotations ?? []) as Record<string, string | number>[];
  expect(annotation).toMatchObject({
    type: 'container_file_citation',
    container_id: files[0]?.container_id,
    file_id: files[0]?.id,
    filename: 'notes.txt',
  });
  const text = message?.content?.[0]?.text ?? '';
  const cited = text.slice(Number(annotation?.['start_index']), Number(annotation?.['end_index']));
  expect([text, 'notes.txt']).toContain(cited);
  const { response, bytes } = await get(server, String(annotation?.['download_url']));
  expect(bytes.toString()).toBe('artifact-ok');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  expect(response.headers.get('content-disposition')).toBe('attachment; filename=notes.txt');
  expect(response.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
});

test('UD-55: ranges, versions and heads are answered as a browser asks for them', async () => {
  const server = await open();
  const { body } = await server.call('POST', '/v1/responses', { input: create('a.txt', '0123456789') });
  const session = (body['metadata'] as { session_id: string }).session_id;
  const [file] = (await server.call('GET', `/v1/sessions/${session}/files`)).body['files'] as {
    id: string;
    container_id: string;
  }[];
  const path = `/v1/containers/${file?.container_id}/files/${file?.id}/content`;
  const etag = `"${createHash('sha256').update('0123456789').digest('hex')}"`;
  const part = await get(server, path, { Range: 'bytes=2-4' });
  expect([part.response.status, part.bytes.toString(), part.response.headers.get('content-range')]).toEqual([
    206,
    '234',
    'bytes 2-4/10',
  ]);
  expect((await get(server, path, { Range: 'bytes=-3' })).bytes.toString()).toBe('789');
  expect((await get(server, path, { Range: 'bytes=2-4', 'If-Range': etag })).response.status).toBe(206);
  expect((await get(server, path, { Range: 'bytes=2-4', 'If-Range': '"other"' })).response.status).toBe(200);
  const beyond = await get(server, path, { Range: 'bytes=50-' });
  expect([beyond.response.status, beyond.response.headers.get('content-range')]).toEqual([416, 'bytes */10']);
  expect(beyond.response.headers.get('uhp-version')).not.toBeNull();
  expect((await get(server, path, { 'If-None-Match': etag })).response.status).toBe(304);
  const head = await fetch(new URL(path, server.url), {
    method: 'HEAD',
    headers: { Authorization: 'Bearer owner-key-of-this-test' },
  });
  expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([200, '10', etag]);
});

test('UD-53: changed content is a new file, the old one stays; one that is gone is listed as deleted', async () => {
  const server = await open();
  const first = await server.call('POST', '/v1/responses', { input: create('a.txt', 'one') });
  const session = (first.body['metadata'] as { session_id: string }).session_id;
  const list = async () =>
    (await server.call('GET', `/v1/sessions/${session}/files`)).body['files'] as { id: string; container_id: string }[];
  const [before] = await list();
  await server.call('POST', '/v1/responses', { input: create('a.txt', 'two'), previous_response_id: first.body['id'] });
  const [after] = await list();
  expect(await list()).toHaveLength(1);
  expect(after?.id).not.toBe(before?.id);
  const read = async (file: typeof after) =>
    (await get(server, `/v1/containers/${file?.container_id}/files/${file?.id}/content`)).bytes.toString();
  expect([await read(before), await read(after)]).toEqual(['one', 'two']);
});

test('X-08: no spelling of an id reaches outside its container', async () => {
  const server = await open();
  await server.call('POST', '/v1/responses', { input: create('a.txt', 'one') });
  for (const id of ['..%2f..%2fkey', '%2e%2e', '..', '..%5c..%5ckey', 'a%00b', '%252e%252e%252fkey', '....//key']) {
    for (const path of [`/v1/containers/${id}/files/${id}/content`, `/v1/containers/cntr_x/files/${id}/content`]) {
      const { response, bytes } = await get(server, `${server.url}${path}`.replace(/^http:\/\/[^/]+/, ''));
      expect([path, response.status]).toEqual([path, response.status === 400 ? 400 : 404]);
      expect(bytes.toString()).toContain('"error"');
    }
  }
});

test('UD-56, UD-57: the archive holds every artifact, an empty session gives an empty one; without a converter 501', async () => {
  const server = await open();
  const { body } = await server.call('POST', '/v1/responses', { input: create('deep/b.txt', 'x') });
  const session = (body['metadata'] as { session_id: string }).session_id;
  const archive = await get(server, `/v1/sessions/${session}/files/archive`);
  expect(archive.response.headers.get('content-type')).toBe('application/zip');
  expect(await entriesOf(archive.bytes)).toEqual(['deep/b.txt']);
  const none = await server.call('POST', '/v1/responses', { input: 'Reply with exactly: ok' });
  const empty = (none.body['metadata'] as { session_id: string }).session_id;
  expect(await entriesOf((await get(server, `/v1/sessions/${empty}/files/archive`)).bytes)).toEqual([]);
  expect((await get(server, `/v1/sessions/hsessnone/files/archive`)).response.status).toBe(404);
  const [file] = (await server.call('GET', `/v1/sessions/${session}/files`)).body['files'] as {
    id: string;
    container_id: string;
  }[];
  const preview = await get(server, `/v1/containers/${file?.container_id}/files/${file?.id}/pdf`);
  expect([501, 200]).toContain(preview.response.status);
  expect((await get(server, `/v1/containers/${file?.container_id}/files/file_none/pdf`)).response.status).toBe(404);
});

function entriesOf(zip: Buffer): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const names: string[] = [];
    fromBuffer(zip, { lazyEntries: false }, (error, file) => {
      if (error !== null || file === undefined) return reject(error);
      file.on('entry', (entry: { fileName: string }) => names.push(entry.fileName));
      file.on('error', reject);
      file.on('end', () => resolve(names));
    });
  });
}
