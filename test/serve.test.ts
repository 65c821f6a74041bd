import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { reins, startReins, temporaryFolder } from './reins-process.ts';

const listening = /^reins listening on (http:\/\/127\.0\.0\.1:\d+)$/m;

test('serve says where it listens when requests are answered, and shows a key that opens it, once', async () => {
  const data = temporaryFolder();
  const first = startReins(['serve', '--port', '0', '--data', data]);
  const said = await first.saw('curl');
  const url = listening.exec(said)?.[1] ?? '';
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
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

test('a port that is in use is said in one sentence, and the exit code is 1', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const address = other.address();
  const port = String(typeof address === 'object' ? address?.port : address);
  const { code, stdout, stderr } = await reins(['serve', '--port', port, '--data', temporaryFolder()]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^reins: 127\.0\.0\.1:\d+ is in use[^\n]*--port\.\n$/);
});
