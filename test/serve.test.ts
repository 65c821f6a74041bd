import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { reins, startReins, temporaryFolder } from './reins-process.ts';

const listening = /^reins listening on (http:\/\/127\.0\.0\.1:\d+)$/m;

test('serve says where it listens when requests are answered, and shows a key that opens it, once', async () => {
  const data = temporaryFolder();
  const first = startReins(['serve', '--port', '0', '--data', data]);
  const said = await first.saw('curl');
  const url = listening.exec(said)?.[1] ?? '';
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect(said).toContain(`\nconsole: ${url}/#ticket=`);
  const key = /^ {2}(rk_\S+)$/m.exec(said)?.[1] ?? '';
  const models = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  expect(models.status).toBe(200);
  first.child.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ code: 0 });

  const second = startReins(['serve', '--port', '0', '--data', data]);
  expect(await second.saw('reins listening on')).not.toContain('rk_');
  second.child.kill('SIGINT');
  expect(await second.ended).toMatchObject({ code: 0, stdout: expect.not.stringContaining('rk_') });
});

test('a port that is in use is said in one sentence, exit code 1; the key is kept for the first start that listens', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const address = other.address();
  const port = String(typeof address === 'object' ? address?.port : address);
  const data = temporaryFolder();
  const { code, stdout, stderr } = await reins(['serve', '--port', port, '--data', data]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^reins: 127\.0\.0\.1:\d+ is in use[^\n]*--port\.\n$/);

  const next = startReins(['serve', '--port', '0', '--data', data]);
  expect(await next.saw('curl')).toContain('rk_');
});

test('of servers that start on one new folder at once one makes the key and the harness; server.pid names the newest', async () => {
  const data = temporaryFolder();
  const servers = [1, 2, 3].map(() => startReins(['serve', '--port', '0', '--data', data]));
  const said = await Promise.all(servers.map((server) => server.saw('reins listening on')));
  const shown = await Promise.race(servers.map((server) => server.saw('curl')));
  const key = /^ {2}(rk_\S+)$/m.exec(shown)?.[1] ?? '';
  expect(readFileSync(join(data, 'key'), 'utf8')).toBe(`${key}\n`);
  for (const text of said) {
    const url = listening.exec(text)?.[1] ?? '';
    const harnesses = await fetch(`${url}/v1/harnesses`, { headers: { authorization: `Bearer ${key}` } });
    expect(await harnesses.json()).toMatchObject({ harnesses: [{ base: 'native' }] });
  }
  const pid = () => Number(readFileSync(join(data, 'server.pid'), 'utf8'));
  expect(servers.map(({ child }) => child.pid)).toContain(pid());
  // What kill -9 leaves behind holds nobody up.
  for (const { child } of servers) child.kill('SIGKILL');
  const ends = await Promise.all(servers.map(({ ended }) => ended));
  expect(ends.filter(({ stdout }) => stdout.includes('rk_'))).toHaveLength(1);
  const last = startReins(['serve', '--port', '0', '--data', data]);
  await last.saw('reins listening on');
  expect(pid()).toBe(last.child.pid);
  last.child.kill('SIGTERM');
  await last.ended;
  expect(existsSync(join(data, 'server.pid'))).toBe(false);
});

test('all that a server writes is private, also in a folder that others may read', async () => {
  const data = temporaryFolder();
  chmodSync(data, 0o755);
  const server = startReins(['serve', '--port', '0', '--data', data]);
  await server.saw('reins listening on');
  for (const name of ['reins.db', 'reins.db-wal', 'reins.db-shm', 'server.lock', 'server.pid', 'key', 'workspaces'])
    expect([name, statSync(join(data, name)).mode & 0o077]).toEqual([name, 0]);
});

test.each<[string, (data: string) => void, RegExp]>([
  [
    'a broken database',
    (data) => writeFileSync(join(data, 'reins.db'), 'x'.repeat(5000)),
    /reins\.db cannot be used: file is not/,
  ],
  [
    'a database that cannot be opened',
    (data) => mkdirSync(join(data, 'reins.db')),
    /reins\.db cannot be written: EISDIR/,
  ],
  [
    'a lock that cannot be opened',
    (data) => mkdirSync(join(data, 'server.lock')),
    /server\.lock cannot be written: EISDIR/,
  ],
  [
    'a default model that nobody knows',
    (data) => writeFileSync(join(data, 'config.json'), '{"models":{"default":"gtp"}}'),
    /models\.default/,
  ],
])('the start is refused in one sentence: %s', async (_, prepare, sentence) => {
  const data = temporaryFolder();
  prepare(data);
  const { code, stdout, stderr } = await reins(['serve', '--port', '0', '--data', data]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(sentence);
  expect(stderr).not.toMatch(/^\s+at /m);
});
