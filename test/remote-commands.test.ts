// The command line against a server, with real processes.

import { afterEach, expect, test } from 'vitest';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { readFile, writeFile } from 'node:fs/promises';
import { ownerKey, startServer, type RunningServer } from './support/in-process-server.ts';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function open(): Promise<RunningServer> {
  const server = await startServer();
  cleanups.push(() => server.close());
  return server;
}

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function reins(server: RunningServer, args: readonly string[], env: Record<string, string> = {}): Promise<Said> {
  const own = {
    PATH: process.env['PATH'],
    HOME: server.dataDir,
    REINS_DATA_DIR: server.dataDir,
    REINS_API_KEY: ownerKey,
    ...env,
  };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(import.meta.dirname, '../bin/reins.js'), ...args],
      { env: own },
      (error, out, err) =>
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : 1, out, err }),
    );
  });
}

async function task(server: RunningServer, input: string, more = {}) {
  const { body } = await server.call('POST', '/v1/responses', { input, ...more });
  return { id: String(body['id']), session: (body['metadata'] as { session_id: string }).session_id };
}

test('sessions are listed, shown and deleted at the server of the data folder, without its address', async () => {
  const server = await open();
  const { session } = await task(server, 'Reply with exactly: ok');
  const listed = await reins(server, ['sessions']);
  expect(listed).toMatchObject({ code: 0, err: '' });
  expect(listed.out).toContain(session);
  expect(listed.out).toContain('completed');
  expect((await reins(server, ['sessions', 'show', session])).out).toContain('> Reply with exactly: ok');
  expect(JSON.parse((await reins(server, ['sessions', '--json'])).out)).toMatchObject({
    sessions: [{ id: session }],
    next_cursor: null,
  });
  expect(await reins(server, ['sessions', 'delete', session])).toMatchObject({ code: 0 });
  expect((await reins(server, ['sessions'])).out).toBe('There are no sessions.\n');
}, 60_000);

test('files of a session are listed and come back byte for byte; an upload gives the id for a task', async () => {
  const server = await open();
  const { session } = await task(server, 'Create a file named a.txt containing exactly: hello');
  expect((await reins(server, ['files', 'list', session])).out).toMatch(/^a\.txt +5 +file_/);
  expect(await reins(server, ['files', 'get', session, 'a.txt'])).toMatchObject({ code: 0, out: 'hello' });
  const zip = join(server.dataDir, 'all.zip');
  expect(await reins(server, ['files', 'archive', session, '-o', zip])).toMatchObject({ code: 0 });
  expect((await readFile(zip)).subarray(0, 2).toString()).toBe('PK');
  const path = join(server.dataDir, 'facts.txt');
  await writeFile(path, 'x');
  expect((await reins(server, ['files', 'upload', path])).out).toMatch(/^file_\w+\n$/);
  for (const [words, problem] of [
    [['upload', join(path, '..', 'nowhere')], /nowhere cannot be read: there is no such file/],
    [['upload', join(path, '..')], /is no file/],
    [['get', session, 'a.txt', '-o', join(path, '..', 'nowhere', 'a.txt')], /cannot be written: there is no such/],
  ] as const) {
    const { code, err } = await reins(server, ['files', ...words]);
    expect([code === 0, err]).toEqual([false, expect.stringMatching(problem)]);
  }
  expect(await reins(server, ['files', 'get', session, 'none.txt'])).toMatchObject({
    code: 1,
    err: expect.stringContaining("no file 'none.txt'"),
  });
}, 60_000);

test('attach shows a task from its beginning and ends as it did; cancel stops one', async () => {
  const server = await open();
  const done = await task(server, 'Reply with exactly: ok');
  expect(await reins(server, ['attach', done.id])).toMatchObject({ code: 0, out: 'ok\n' });
  const lines = (await reins(server, ['attach', done.id, '--json'])).out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ sequence_number: number }) => number)).toEqual(lines.map((_, index) => index));
  const sleep = 'Run this shell command and reply with its output only, nothing else: sleep 30';
  const long = await task(server, sleep, { background: true });
  expect(await reins(server, ['cancel', long.id])).toMatchObject({ code: 0, out: `${long.id}: cancelled\n` });
  expect(await reins(server, ['attach', long.id])).toMatchObject({ code: 130 });
  const other = await task(server, sleep, { background: true });
  const { session } = other;
  expect(await reins(server, ['cancel', session])).toMatchObject({ code: 0, out: `${session}: cancelled\n`, err: '' });
  expect(JSON.parse((await reins(server, ['cancel', session, '--json'])).out)).toEqual({
    id: session,
    status: 'cancelled',
  });
}, 60_000);

test('what is wrong is said in one sentence: no server, a wrong key, an unknown id, a wrong word', async () => {
  const server = await open();
  const none = await reins(server, ['sessions'], { REINS_DATA_DIR: join(server.dataDir, 'none') });
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('start one with reins serve') });
  expect(await reins(server, ['sessions', '--key', 'wrong'])).toMatchObject({
    code: 1,
    err: 'reins: This API key is not valid here.\n',
  });
  expect(await reins(server, ['attach', 'resp_none'])).toMatchObject({
    code: 1,
    err: 'reins: There is no such response.\n',
  });
  expect(await reins(server, ['sessions', 'burn', 'x'])).toMatchObject({ code: 2 });
  expect(await reins(server, ['cancel'])).toMatchObject({ code: 2 });
}, 60_000);
