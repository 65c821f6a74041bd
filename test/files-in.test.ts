// Files that clients give, over real HTTP (U-079, U-210, U-400 to U-402, UD-42 to UD-44, UD-63).

import { afterEach, expect, test } from 'vitest';
import { createKey } from '../src/auth/keys.ts';
import { join } from 'node:path';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { runIds } from '../src/core/ids.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function open(settings = {}): Promise<RunningServer> {
  const server = await startServer(settings);
  cleanups.push(() => server.close());
  return server;
}

async function upload(
  server: RunningServer,
  content: string | Uint8Array<ArrayBuffer>,
  name: string,
  token = ownerKey,
) {
  const form = new FormData();
  form.append('purpose', 'user_data');
  form.append('file', new Blob([content]), name);
  const headers = { Authorization: `Bearer ${token}` };
  const response = await fetch(`${server.url}/v1/files`, { method: 'POST', headers, body: form });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const data = (text: string | Uint8Array, type: string) => `data:${type};base64,${Buffer.from(text).toString('base64')}`;
const secret = 'The secret token is ALPHA-7.2. Keep it well.';
const ask = 'Reply with only the secret token from the attached file.';

const taskWith = (part: Record<string, unknown>, text = ask) => ({
  input: [{ role: 'user', content: [{ type: 'input_text', text }, part] }],
});

const answerOf = (body: Record<string, unknown>) =>
  (body['output'] as { type: string; content?: { text: string }[] }[]).findLast(({ type }) => type === 'message')
    ?.content?.[0]?.text;

const workspaceOf = (server: RunningServer, body: Record<string, unknown>) =>
  join(server.dataDir, 'workspaces', (body['metadata'] as { session_id: string }).session_id);

test('X-05: a file given inline is read by the agent and lies in its working directory', async () => {
  const server = await open();
  const part = { type: 'input_file', filename: 'facts.txt', file_data: data(secret, 'text/plain') };
  const { body } = await server.call('POST', '/v1/responses', taskWith(part));
  expect(answerOf(body)).toBe('ALPHA-7.2');
  expect(await readFile(join(workspaceOf(server, body), 'facts.txt'), 'utf8')).toBe(secret);
  const session = (body['metadata'] as { session_id: string }).session_id;
  expect((await server.call('GET', `/v1/sessions/${session}/files`)).body).toEqual({ files: [] });
  const items = (await server.call('GET', `/v1/responses/${String(body['id'])}/input_items`)).body['data'];
  expect(items).toEqual(taskWith(part).input);
});

test('X-09: an upload answers 200 with its exact size, and a task reads it by its id', async () => {
  const server = await open();
  const { status, body: file } = await upload(server, secret, 'facts.txt');
  expect(status).toBe(200);
  expect(file).toMatchObject({ object: 'file', filename: 'facts.txt', bytes: secret.length, purpose: 'user_data' });
  expect(String(file['id'])).toMatch(/^file_/);
  const part = { type: 'input_file', file_id: file['id'] };
  const { body } = await server.call('POST', '/v1/responses', taskWith(part));
  expect(answerOf(body)).toBe('ALPHA-7.2');
});

test('UD-44: what is no text lies in the working directory byte for byte, two of one name side by side', async () => {
  const server = await open();
  const bytes = Uint8Array.from({ length: 200_000 }, (_, index) => (index * 7) % 256);
  const { body: file } = await upload(server, bytes, 'data.bin');
  const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0]);
  const content = [
    { type: 'input_text', text: 'Reply with exactly: ok' },
    { type: 'input_file', file_id: file['id'] },
    { type: 'input_file', filename: 'data.bin', file_data: data(bytes.subarray(1), 'application/octet-stream') },
    { type: 'input_image', image_url: data(png, 'image/png') },
  ];
  const { body } = await server.call('POST', '/v1/responses', { input: [{ role: 'user', content }] });
  expect(body['status']).toBe('completed');
  const folder = workspaceOf(server, body);
  expect((await readdir(folder)).toSorted()).toEqual(['attachment.png', 'data (2).bin', 'data.bin']);
  expect(Buffer.compare(await readFile(join(folder, 'data.bin')), bytes)).toBe(0);
  expect(Buffer.compare(await readFile(join(folder, 'data (2).bin')), bytes.subarray(1))).toBe(0);
  expect(Buffer.compare(await readFile(join(folder, 'attachment.png')), png)).toBe(0);
  // A later task of the session finds the names taken.
  const part = { type: 'input_file', filename: 'data.bin', file_data: data('x', 'text/plain') };
  await server.call('POST', '/v1/responses', {
    ...taskWith(part, 'Reply with exactly: ok'),
    previous_response_id: body['id'],
  });
  expect(await readdir(folder)).toContain('data (3).bin');
});

test('an artifact of one session is given to a task of another by its id', async () => {
  const server = await open();
  const input = `Create a file named facts.txt containing exactly: ${secret}`;
  const made = await server.call('POST', '/v1/responses', { input });
  const session = (made.body['metadata'] as { session_id: string }).session_id;
  const [file] = (await server.call('GET', `/v1/sessions/${session}/files`)).body['files'] as { id: string }[];
  const { body } = await server.call('POST', '/v1/responses', taskWith({ type: 'input_file', file_id: file?.id }));
  expect(answerOf(body)).toBe('ALPHA-7.2');
});

test('B121: a hostile name becomes a harmless one inside the working directory', async () => {
  const server = await open();
  for (const filename of ['../../../etc/passwd', '/abs/passwd', 'a\0/passwd', '..\\..\\passwd']) {
    const part = { type: 'input_file', filename, file_data: data('x', 'text/plain') };
    const { status, body } = await server.call('POST', '/v1/responses', taskWith(part, 'Reply with exactly: ok'));
    expect([filename, status, await readdir(workspaceOf(server, body))]).toEqual([filename, 200, ['passwd']]);
  }
});

test('UD-43, UD-44: what is no file is refused with the path of the part, and nothing is started', async () => {
  const server = await open();
  const refused: readonly [Record<string, unknown>, number, string][] = [
    [{ type: 'input_file', file_id: 'file_none' }, 404, 'input[0].content[1].file_id'],
    [{ type: 'input_file', file_id: 7 }, 400, 'input[0].content[1].file_id'],
    [{ type: 'input_file', filename: 'x' }, 400, 'input[0].content[1].file_data'],
    [{ type: 'input_file', file_data: 'plain' }, 400, 'input[0].content[1].file_data'],
    [{ type: 'input_file', file_data: 'data:text/plain;base64,***' }, 400, 'input[0].content[1].file_data'],
    [{ type: 'input_image', image_url: 'https://example.com/a.png' }, 400, 'input[0].content[1].image_url'],
    [{ type: 'input_audio' }, 400, 'input[0].content[1].type'],
  ];
  for (const [part, status, param] of refused) {
    const answer = await server.call('POST', '/v1/responses', taskWith(part));
    expect([part, answer.status, (answer.body['error'] as { param: string }).param]).toEqual([part, status, param]);
  }
  expect((await server.call('GET', '/v1/sessions')).body['sessions']).toEqual([]);
  expect(await readdir(join(server.dataDir, 'workspaces'))).toEqual([]);
});

test('U-043: a file of another principal is as unknown as one that never was', async () => {
  const server = await open();
  const { key, record } = createKey({ principal: 'other', scopes: ['read', 'tasks'], atMs: 1 });
  {
    await using store = openSqlite(join(server.dataDir, 'reins.db'));
    await store.putKey(record);
  }
  const { body: file } = await upload(server, secret, 'facts.txt', key);
  const foreign = await server.call('POST', '/v1/responses', taskWith({ type: 'input_file', file_id: file['id'] }));
  const unknown = await server.call('POST', '/v1/responses', taskWith({ type: 'input_file', file_id: 'file_none' }));
  expect(foreign.status).toBe(404);
  expect(foreign.body).toEqual(unknown.body);
});

test('UT-30: one byte over the limit is 413 with max_bytes and leaves nothing; the limit itself is taken', async () => {
  const server = await open({ limits: { maxUploadBytes: 1_000_000 } });
  const over = await upload(server, new Uint8Array(1_000_001), 'big.bin');
  expect([over.status, over.body]).toMatchObject([
    413,
    { error: { code: 'file_too_large', detail: { max_bytes: 1_000_000 } } },
  ]);
  expect(await readdir(join(server.dataDir, 'uploads'))).toEqual([]);
  expect((await upload(server, new Uint8Array(1_000_000), 'fits.bin')).body).toMatchObject({ bytes: 1_000_000 });
});

test('U-400: a form that is none, is broken, or holds no file is told so, and leaves nothing', async () => {
  const server = await open();
  const post = async (type: string, body: string) => {
    const headers = { Authorization: `Bearer ${ownerKey}`, 'Content-Type': type };
    const response = await fetch(`${server.url}/v1/files`, { method: 'POST', headers, body });
    return [response.status, ((await response.json()) as { error: { param: string } }).error.param] as const;
  };
  const type = 'multipart/form-data; boundary=x';
  const part = (name: string) => `--x\r\nContent-Disposition: form-data; name="${name}"; filename="a"\r\n\r\n1\r\n`;
  expect(await post('application/json', '{}')).toEqual([400, 'file']);
  expect(await post('multipart/form-data', 'x')).toEqual([400, 'file']);
  expect(await post(type, '--x--\r\n')).toEqual([400, 'file']);
  expect(await post(type, `${part('other')}--x--\r\n`)).toEqual([400, 'file']);
  expect(await post(type, `${part('file')}${part('file')}--x--\r\n`)).toEqual([400, 'file']);
  expect(await post(type, part('file'))).toEqual([400, 'file']);
  expect(await post('multipart/form-data; boundary=x', 'no form at all')).toEqual([400, 'file']);
  expect((await server.call('POST', '/v1/responses', undefined)).status).toBe(400);
  expect(await readdir(join(server.dataDir, 'uploads')).catch(() => [])).toEqual([]);
});

test('B039: a client that goes away in mid-upload leaves nothing behind', async () => {
  const server = await open();
  await new Promise<void>((resolve) => {
    const sending = request(`${server.url}/v1/files`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${ownerKey}`,
        'Content-Type': 'multipart/form-data; boundary=x',
        'Content-Length': '1000000',
      },
    });
    sending.on('error', () => resolve());
    sending.write('--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
    sending.write('y'.repeat(200_000), () => setTimeout(() => sending.destroy(), 50));
    sending.on('close', () => resolve());
  });
  await server.until(async () => (await readdir(join(server.dataDir, 'uploads')).catch(() => [])).length === 0);
});

test('UR-20, UR-21: a follow-up in the queue and a word to a running task bring files, too', async () => {
  const server = await open({ demo: { speed: 'human' } });
  const long = await server.call('POST', '/v1/responses', {
    input: 'Count slowly from 1 to 30, one number per line.',
    background: true,
  });
  const session = (long.body['metadata'] as { session_id: string }).session_id;
  const part = { type: 'input_file', filename: 'facts.txt', file_data: data(secret, 'text/plain') };
  const queued = await server.call('POST', `/v1/reins/sessions/${session}/queue`, taskWith(part));
  expect(queued.status).toBe(200);
  const steered = await server.call(
    'POST',
    `/v1/reins/responses/${String(long.body['id'])}/steer`,
    taskWith({ ...part, filename: 'more.txt' }),
  );
  expect(steered.status).toBe(200);
  expect(await readdir(workspaceOf(server, long.body))).toEqual(['more.txt']);
  await server.until(async () => {
    const { body } = await server.call('GET', `/v1/sessions/${session}/turns`);
    const turns = body['turns'] as { status: string; assistant: string }[];
    return turns.length === 2 && turns[1]?.assistant === 'ALPHA-7.2';
  });
}, 30_000);

test('X-05: the file may stand before the question', async () => {
  const server = await open();
  const part = { type: 'input_file', filename: 'facts.txt', file_data: data(secret, 'text/plain') };
  const [item] = taskWith(part).input;
  const { body } = await server.call('POST', '/v1/responses', {
    input: [{ role: 'user', content: item?.content.toReversed() }],
  });
  expect(answerOf(body)).toBe('ALPHA-7.2');
});

test('UD-44: a text is a text, whatever it is called', async () => {
  const server = await open();
  for (const name of ['README', 'facts.ts', 'facts.bin']) {
    const { body: file } = await upload(server, secret, name);
    const { body } = await server.call('POST', '/v1/responses', taskWith({ type: 'input_file', file_id: file['id'] }));
    expect([name, answerOf(body)]).toEqual([name, 'ALPHA-7.2']);
  }
});

test('UR-20, UR-33: a word said again is known with its files; one that is refused leaves none, and none is an artifact', async () => {
  const server = await open({ demo: { speed: 'human' } });
  const { body } = await server.call('POST', '/v1/responses', {
    input: 'Count slowly from 1 to 15, one number per line.',
    background: true,
  });
  const [id, folder] = [String(body['id']), workspaceOf(server, body)];
  const parts = ['text/plain', 'application/octet-stream'].map((type) => ({
    type: 'input_file',
    filename: 'more',
    file_data: data(type === 'text/plain' ? secret : Uint8Array.of(0, 255), type),
  }));
  const steer = async (message_id: string, content: object[] = parts) => {
    const path = `/v1/reins/responses/${id}/steer`;
    return (await server.call('POST', path, { message_id, input: [{ role: 'user', content }] })).status;
  };
  await server.until(async () => (await readdir(folder).catch(() => null)) !== null);
  expect([await steer('m1'), await steer('m1')]).toEqual([200, 200]);
  expect((await readdir(folder)).toSorted()).toEqual(['more', 'more (2)']);
  const other = { type: 'input_file', filename: 'other', file_data: data('other', 'text/plain') };
  expect(await steer('m1', [other])).toBe(409);
  const isOver = async () => (await server.call('GET', `/v1/responses/${id}`)).body['status'] !== 'in_progress';
  await server.until(isOver);
  expect(await steer('m2', [other])).toBe(409);
  expect((await readdir(folder)).toSorted()).toEqual(['more', 'more (2)']);
  const session = (body['metadata'] as { session_id: string }).session_id;
  expect((await server.call('GET', `/v1/sessions/${session}/files`)).body).toEqual({ files: [] });
}, 30_000);

test('UR-33: a follow-up that is queued again makes no second upload', async () => {
  const server = await open({ demo: { speed: 'human' } });
  const { body } = await server.call('POST', '/v1/responses', {
    input: 'Count slowly from 1 to 10, one number per line.',
    background: true,
  });
  const session = (body['metadata'] as { session_id: string }).session_id;
  const part = { type: 'input_file', filename: 'facts.txt', file_data: data(secret, 'text/plain') };
  for (let time = 0; time < 3; time++) {
    const entry = { ...taskWith(part), message_id: 'm1' };
    expect((await server.call('POST', `/v1/reins/sessions/${session}/queue`, entry)).status).toBe(200);
  }
  expect(await readdir(join(server.dataDir, 'uploads'))).toHaveLength(1);
});

test('E-105, U-211: large files stand beside the log, which stays small, and the items are given back whole', async () => {
  const server = await open();
  const large = Buffer.alloc(3_000_000, 'large ');
  const content = [
    { type: 'input_text', text: 'Reply with exactly: ok' },
    { type: 'input_file', filename: 'a.txt', file_data: data(large, 'text/plain') },
    ...Array.from({ length: 90 }, (_, index) => ({
      type: 'input_file',
      filename: `${index}.txt`,
      file_data: data(`${index} `.repeat(15_000), 'text/plain'),
    })),
  ];
  const { status, body } = await server.call('POST', '/v1/responses', { input: [{ role: 'user', content }] });
  expect([status, body['status']]).toEqual([200, 'completed']);
  {
    await using store = openSqlite(join(server.dataDir, 'reins.db'));
    const [started] = await store.readEvents(runIds.make(String(body['id']).slice('resp_'.length)), {
      after: 0,
      limit: 1,
    });
    expect(JSON.stringify(started).length).toBeLessThan(1_000_000);
  }
  const items = (await server.call('GET', `/v1/responses/${String(body['id'])}/input_items`)).body['data'];
  expect(items).toEqual([{ role: 'user', content }]);
  expect((await readFile(join(workspaceOf(server, body), 'a.txt'))).equals(large)).toBe(true);
});

test('UD-43: an input may not bring more files than a task can be told of', async () => {
  const server = await open();
  const { body: file } = await upload(server, 'x', 'x.txt');
  const content = Array.from({ length: 101 }, () => ({ type: 'input_file', file_id: file['id'] }));
  const { status, body } = await server.call('POST', '/v1/responses', { input: [{ role: 'user', content }] });
  expect([status, (body['error'] as { param: string }).param]).toEqual([400, 'input']);
});

test('what a crash has left of uploads is gone after the next start', async () => {
  const server = await open();
  const { body: file } = await upload(server, secret, 'facts.txt');
  const folder = join(server.dataDir, 'uploads');
  for (const name of ['.new-file_1', 'file_unrecorded']) await writeFile(join(folder, name), 'x');
  for (const name of await readdir(folder)) await utimes(join(folder, name), 1, 1);
  const again = await startServer({}, server.dataDir);
  cleanups.push(() => again.close());
  await again.until(async () => (await readdir(folder)).length === 1);
  expect(await readdir(folder)).toEqual([file['id']]);
});
