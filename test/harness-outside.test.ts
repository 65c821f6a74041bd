// What a foreign harness needs of the world around it, when that is not there: keys, providers, its own server.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endingOf, startStubServer } from './support/stub-server.ts';
import { ended } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test } from 'vitest';
import { placeStubs, processesOf } from './support/stub-programs.ts';
import { startProcess, startServer } from './support/server.ts';
import { temporaryFolder } from './support/folders.ts';

test.each([
  ['an expired key', { status: 401 }, 'refused the configured credential (status 401)'],
  ['a wrong base address', { status: 404 }, 'refused the request (status 404)'],
  ['no network', { providerUrl: 'http://127.0.0.1:1/v1' }, 'could not be reached'],
] as const)('B140: %s fails the task as the fault of the provider, and says which', async (_, options, words) => {
  await using server = await startStubServer(options);
  const [status, code, message] = endingOf(await server.run('acp-stub', 'asks'));
  expect([status, code]).toEqual(['failed', 'provider_error']);
  expect(message).toContain(words);
});

test('B140: that there is no key, or no program, is told before anything is started', async () => {
  const data = temporaryFolder();
  const { harnesses } = placeStubs(join(data, 'stubs'));
  const lost = { ...harnesses, programs: { pi: join(data, 'no-pi') } };
  await using server = await startServer({ data, settings: { harnesses: lost } });
  const post = (base: string) => server.uhp.send('POST', '/v1/harnesses', { body: { base, name: base } });
  const { body } = await post('acp-stub');
  const refused = await server.uhp.create({ input: 'Now fine', metadata: { harness_id: body.id } });
  expect([refused.status, refused.code]).toEqual([422, 'model_unavailable']);
  const unknown = await post('pi');
  expect([unknown.status, unknown.code]).toEqual([422, 'unsupported_base']);
  expect(existsSync(join(data, 'homes'))).toBe(false);
});

test('H-045, B086: one that cannot hear a decision any more fails by name, and is not refused every call', async () => {
  await using server = await startStubServer();
  const response = await server.run('acp-stub', 'permission');
  expect(endingOf(response)).toEqual(['failed', 'harness_error', 'stub closed its input while it was at work.']);
  await eventually(async () => (await server.left(response)).length === 0 || undefined);
});

test.skipIf(process.platform !== 'linux')(
  'B139, H-065, H-941: what a harness had started is gone once the server is back from a kill -9, also what had left for a session of its own',
  { timeout: 30_000 },
  async () => {
    const data = temporaryFolder();
    writeFileSync(join(data, 'config.json'), JSON.stringify(placeStubs(join(data, 'stubs'))));
    const env = { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' };
    const first = await startProcess(data, env);
    const made = await first.uhp.send('POST', '/v1/harnesses', { body: { base: 'acp-stub', name: 'stub' } });
    const metadata = { harness_id: made.body.id };
    const { body: task } = await first.uhp.create({
      input: 'Now works',
      model: 'openai/test-model',
      background: true,
      metadata,
    });
    const ticks = join(data, 'workspaces', task.metadata.session_id, 'ticks');
    await eventually(() => existsSync(ticks) || undefined, 10_000);
    const members = await processesOf(data, task.metadata.session_id);
    // One for the agent, two for each of its jobs and their pauses.
    expect(members.length).toBeGreaterThanOrEqual(5);
    await first.kill();
    const second = await startProcess(data, env);
    const left = () => members.filter(({ pid }) => existsSync(`/proc/${pid}`));
    await eventually(() => left().length === 0 || undefined);
    await second.uhp.cancel(task.id);
    expect((await ended(second.uhp, task.id)).status).toBe('cancelled');
    expect(await processesOf(data, task.metadata.session_id)).toEqual([]);
    await second.kill();
  },
);
