// A data folder as one file, made while a server works on it.

import { afterEach, expect, onTestFinished, test } from 'vitest';
import { join } from 'node:path';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { describeWithS3 } from './support/s3.ts';
import { key } from './support/uhp.ts';
import { exportData, importData } from '../src/data-export.ts';
import { loadConfig } from '../src/config.ts';
import { startServer } from './support/in-process-server.ts';
import { startServer as startApart } from './support/server.ts';
import { tmpdir } from 'node:os';

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'reins-backup-'));
  cleanups.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

const place = (data: string, env: Record<string, string> = {}) => loadConfig({ flags: { data }, env });

test('what is written while tasks run serves the same responses, sessions and files where it is put back', async () => {
  const [server, at] = [await startServer({ demo: { speed: 'human' } }), await folder()];
  cleanups.push(() => server.close());
  const made = await server.call('POST', '/v1/responses', {
    input: 'Create a file named a.txt containing exactly: kept',
  });
  const session = (made.body['metadata'] as { session_id: string }).session_id;
  const workspace = join(server.dataDir, 'workspaces', session);
  await writeFile(join(workspace, 'run.sh'), 'echo', { mode: 0o755 });
  await symlink('a.txt', join(workspace, 'link'));
  const long = await server.call('POST', '/v1/responses', {
    input: 'Count slowly from 1 to 30, one number per line.',
    background: true,
  });
  const archive = join(at, 'reins.zip');
  expect((await exportData(place(server.dataDir), archive)).files).toBeGreaterThan(3);
  expect((await stat(archive)).mode & 0o777).toBe(0o600);
  await expect(exportData(place(server.dataDir), archive)).rejects.toThrow('is there already');

  const restored = join(at, 'restored');
  await importData(archive, place(restored));
  await expect(importData(archive, place(restored))).rejects.toThrow('is not empty');
  expect((await stat(join(restored, 'workspaces', session, 'run.sh'))).mode & 0o777).toBe(0o755);
  expect(await readFile(join(restored, 'workspaces', session, 'link'), 'utf8')).toBe('kept');
  expect(await readdir(restored)).not.toContain('server.pid');
  const again = await startServer({}, restored);
  cleanups.push(() => again.close());
  expect((await again.call('GET', `/v1/responses/${String(made.body['id'])}`)).body).toEqual(made.body);
  const [file] = (await again.call('GET', `/v1/sessions/${session}/files`)).body['files'] as {
    id: string;
    container_id: string;
  }[];
  const content = await again.call('GET', `/v1/containers/${file?.container_id}/files/${file?.id}/content`);
  expect(content.body['text']).toBe('kept');
  // The task that was at work is another server's while that lives; it is there, and not lost.
  expect((await again.call('GET', `/v1/responses/${String(long.body['id'])}`)).body['status']).toBe('in_progress');
}, 60_000);

test('what is no archive, is cut off, or holds no database is refused, and leaves nothing behind', async () => {
  const at = await folder();
  const [text, target] = [join(at, 'x.zip'), join(at, 'data')];
  await writeFile(text, 'no zip at all');
  await expect(importData(text, place(target))).rejects.toThrow('no archive that can be read');
  await expect(importData(join(at, 'none.zip'), place(target))).rejects.toThrow('There is no file');
  await mkdir(join(at, 'empty'));
  await expect(exportData(place(join(at, 'empty')), join(at, 'y.zip'))).rejects.toThrow('no database');
  expect((await readdir(at)).toSorted()).toEqual(['empty', 'x.zip']);
});

test('A4: what is in a database elsewhere is neither written nor put back, and the means for it are named', async () => {
  const [at, env] = [await folder(), { REINS_DATABASE_URL: 'postgres://reins:secret@127.0.0.1:1/reins' }];
  const refused = /^(?!.*secret).*PostgreSQL of REINS_DATABASE_URL.*pg_(?:dump|restore)/;
  await expect(exportData(place(at, env), join(at, 'x.zip'))).rejects.toThrow(refused);
  await expect(importData(join(at, 'x.zip'), place(at, env))).rejects.toThrow(refused);
  expect(await readdir(at)).toEqual([]);
});

describeWithS3('files in a bucket', (s3) => {
  test('reins export takes the bucket along: what is put back into a folder serves the same files', async () => {
    const store = await s3();
    const { name, url } = await store.bucket();
    const at = await folder();
    const env = { REINS_FILES_URL: url };
    const server = await startApart({ data: join(at, 'one'), env, settings: { agent: { shell: { kind: 'host' } } } });
    const made = await server.uhp.create({ input: 'Create a file named a.txt containing exactly: kept' });
    const session = made.body.metadata.session_id;
    const { body: listed } = await server.uhp.send('GET', `/v1/sessions/${session}/files`);
    const [file] = listed['files'] as { readonly id: string; readonly container_id: string }[];
    await server[Symbol.asyncDispose]();
    expect((await store.keys(name)).length).toBeGreaterThan(0);
    await exportData(place(join(at, 'one'), env), join(at, 'all.zip'));
    await expect(importData(join(at, 'all.zip'), place(join(at, 'two'), env))).rejects.toThrow('is a bucket');
    await importData(join(at, 'all.zip'), place(join(at, 'two')));
    const again = await startApart({ data: join(at, 'two') });
    onTestFinished(() => again[Symbol.asyncDispose]());
    const path = `/v1/containers/${file?.container_id}/files/${file?.id}/content`;
    const content = await fetch(again.url + path, { headers: { authorization: `Bearer ${key}` } });
    expect([content.status, await content.text()]).toEqual([200, 'kept']);
  });
});
