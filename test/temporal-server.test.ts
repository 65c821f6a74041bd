// A server that has its tasks scheduled by Temporal, and workers: real processes over one data folder.

import { expect, test, vi } from 'vitest';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { describeWithTemporal } from './support/temporal.ts';
import { loadConfig } from '../src/config.ts';
import { lookAtNeighbours } from '../src/look-at-neighbours.ts';
import { reins, startReins, temporaryFolder } from './reins-process.ts';

const key = 'a-key-for-tests-of-temporal';

describeWithTemporal('reins serve and reins worker', (temporal) => {
  test('E-870, E-878: the server admits, streams and cancels what a worker works on', async () => {
    const data = temporaryFolder();
    writeFileSync(join(data, 'config.json'), JSON.stringify({ limits: { drainSeconds: 0 } }));
    const { address } = await temporal();
    const env = { HOME: data, REINS_TEMPORAL_ADDRESS: address, REINS_API_KEY: key, REINS_PORT: '0' };
    const server = startReins(['serve', '--data', data], { env });
    const [, url = ''] = /listening on (\S+)/.exec(await server.saw('listening on')) ?? [];
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
    const post = async (path: string, body: object = {}) => {
      const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await answer.json()) as Response;
    };
    const get = async (id: string) =>
      (await (await fetch(`${url}/v1/responses/${id}`, { headers })).json()) as Response;

    const told = async () => {
      const findings = await lookAtNeighbours(loadConfig({ flags: { data }, env }));
      return findings.map(({ state, message }) => [state, message.replace(/^.* answers, /, '')]);
    };
    expect(await told()).toEqual([['beware', expect.stringContaining('nobody works there')]]);
    await server.saw('Nobody works for Temporal here yet');

    // Nobody works yet; the task waits, and is none of a worker's with another database.
    const other = temporaryFolder();
    const stranger = startReins(['worker', '--data', other], { env: { ...env, HOME: other } });
    await stranger.saw(`over SQLite in ${other}`);
    const waiting = await post('/v1/responses', { input: 'Reply with exactly: Hello.', background: true });
    await stranger.saw('This database knows no such task');
    stranger.child.kill('SIGTERM');
    expect(await stranger.ended).toMatchObject({ code: 0 });
    const worker = startReins(['worker', '--data', data], { env });
    await worker.saw('reins works for Temporal at');
    await vi.waitFor(async () => expect(await get(waiting.id)).toMatchObject({ status: 'completed' }), soon);
    expect(JSON.stringify((await get(waiting.id)).output)).toContain('Hello');
    // The stranger has not been gone for long.
    expect(await told()).toEqual([['well', 'namespace default, queue reins: 2 workers.']]);

    const startSlow = async () => {
      const { id } = await post('/v1/responses', { input: 'Count slowly from 1 to 20', background: true });
      const stream = await fetch(`${url}/v1/responses/${id}?stream=true`, { headers });
      let seen = '';
      for await (const chunk of stream.body ?? []) {
        seen += new TextDecoder().decode(chunk);
        if (seen.includes('response.output_text.delta')) break;
      }
      return id;
    };
    const slow = await startSlow();
    await post(`/v1/responses/${slow}/cancel`);
    await vi.waitFor(async () => expect(await get(slow)).toMatchObject({ status: 'cancelled' }), soon);

    // What is left in order is no trouble, and nothing was.
    await startSlow();
    const ended = [];
    for (const each of [worker, server]) {
      each.child.kill('SIGTERM');
      ended.push(await each.ended);
    }
    for (const { code, stderr } of ended) {
      expect(code).toBe(0);
      expect(stderr).not.toMatch(/Temporal says|is over before it|"level":"error"/);
    }
  }, 90_000);
});

describeWithTemporal('reins doctor', (temporal) => {
  test('a namespace that is not there is named', async () => {
    const { address } = await temporal();
    const env = { REINS_TEMPORAL_ADDRESS: address };
    const settings = JSON.stringify({ temporal: { namespace: 'elsewhere' } });
    const data = temporaryFolder();
    writeFileSync(join(data, 'config.json'), settings);
    expect(await lookAtNeighbours(loadConfig({ flags: { data }, env }))).toEqual([
      { what: 'Temporal', state: 'wrong', message: expect.stringMatching(/elsewhere.*not found/i) },
    ]);
  });
});

test('doctor says that a Temporal is not reached, and that tasks wait for it', async () => {
  const env = { REINS_TEMPORAL_ADDRESS: '127.0.0.1:9' };
  const { code, stdout } = await reins(['doctor', '--data', temporaryFolder()], { env });
  expect(code).toBe(1);
  expect(stdout).toMatch(/x Temporal: at 127.0.0.1:9, namespace default: \S.* wait meanwhile/);
}, 30_000);

const soon = { timeout: 20_000, interval: 100 };

interface Response {
  readonly id: string;
  readonly output?: unknown;
}

test('a server whose Temporal is away begins all the same, and says so', async () => {
  const data = temporaryFolder();
  const server = startReins(['serve', '--data', data], {
    env: { HOME: data, REINS_TEMPORAL_ADDRESS: '127.0.0.1:9', REINS_PORT: '0' },
  });
  await server.saw('listening on');
  await server.saw('Temporal cannot be asked (temporal.address');
  server.child.kill('SIGTERM');
  expect(await server.ended).toMatchObject({ code: 0 });
}, 30_000);

test('an address that is an URL is refused in a line', async () => {
  const env = { REINS_TEMPORAL_ADDRESS: 'http://127.0.0.1:7233/foo' };
  for (const verb of ['serve', 'worker', 'doctor']) {
    const { code, stderr } = await reins([verb, '--data', temporaryFolder()], { env });
    expect({ code, lines: stderr.trim().split('\n') }).toEqual({
      code: 2,
      lines: [expect.stringContaining('REINS_TEMPORAL_ADDRESS is wrong: it is host and port alone')],
    });
  }
}, 30_000);

test('a worker with no Temporal to work for says which setting it lacks', async () => {
  const ended = await reins(['worker', '--data', temporaryFolder()]);
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('REINS_TEMPORAL_ADDRESS') });
});

test('a worker whose Temporal is away says so and waits; stopped, it does not stay for requests that nobody sends it', async () => {
  const data = temporaryFolder();
  writeFileSync(join(data, 'config.json'), JSON.stringify({ limits: { withdrawSeconds: 600 } }));
  const worker = startReins(['worker', '--data', data], { env: { HOME: data, REINS_TEMPORAL_ADDRESS: '127.0.0.1:9' } });
  const line = (await worker.saw('Temporal cannot be worked for now')).split('\n').find((each) => each.includes('now'));
  expect(JSON.parse(line ?? '')).toMatchObject({ address: '127.0.0.1:9', reason: 'Connection refused' });
  expect(line).not.toContain('cause');
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
}, 60_000);
