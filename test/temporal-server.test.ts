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

    // Nobody works yet; the task waits.
    const waiting = await post('/v1/responses', { input: 'Reply with exactly: Hello.', background: true });
    const worker = startReins(['worker', '--data', data], { env });
    await worker.saw('reins works for Temporal at');
    await vi.waitFor(async () => expect(await get(waiting.id)).toMatchObject({ status: 'completed' }), soon);
    expect(JSON.stringify((await get(waiting.id)).output)).toContain('Hello');
    expect(await told()).toEqual([['well', 'namespace default, queue reins: 1 worker.']]);

    const slow = await post('/v1/responses', { input: 'Count slowly from 1 to 20', background: true });
    const stream = await fetch(`${url}/v1/responses/${slow.id}?stream=true`, { headers });
    let seen = '';
    for await (const chunk of stream.body ?? []) {
      seen += new TextDecoder().decode(chunk);
      if (seen.includes('response.output_text.delta')) break;
    }
    await post(`/v1/responses/${slow.id}/cancel`);
    await vi.waitFor(async () => expect(await get(slow.id)).toMatchObject({ status: 'cancelled' }), soon);

    for (const each of [worker, server]) {
      each.child.kill('SIGTERM');
      expect(await each.ended).toMatchObject({ code: 0 });
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
      { what: 'Temporal', state: 'beware', message: expect.stringMatching(/elsewhere.*not found/i) },
    ]);
  });
});

test('doctor says that a Temporal is not reached, and that tasks wait for it', async () => {
  const env = { REINS_TEMPORAL_ADDRESS: '127.0.0.1:9' };
  const { stdout } = await reins(['doctor', '--data', temporaryFolder()], { env });
  expect(stdout).toMatch(/! Temporal: at 127.0.0.1:9, namespace default: \S.* wait meanwhile/);
}, 30_000);

const soon = { timeout: 20_000, interval: 100 };

interface Response {
  readonly id: string;
  readonly output?: unknown;
}

test('a worker with no Temporal to work for says which setting it lacks', async () => {
  const ended = await reins(['worker', '--data', temporaryFolder()]);
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('REINS_TEMPORAL_ADDRESS') });
});

test('a worker whose Temporal is away says so and waits; stopped, it does not stay for requests that nobody sends it', async () => {
  const data = temporaryFolder();
  writeFileSync(join(data, 'config.json'), JSON.stringify({ limits: { withdrawSeconds: 600 } }));
  const worker = startReins(['worker', '--data', data], { env: { HOME: data, REINS_TEMPORAL_ADDRESS: '127.0.0.1:9' } });
  await worker.saw('Temporal cannot be worked for now');
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
}, 60_000);
