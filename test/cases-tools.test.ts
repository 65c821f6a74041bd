// Tool calls against providers that refuse what real ones refuse: real clients, real sockets, real processes.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addHarness, startServer, type TestServer } from './support/server.ts';
import { allowAll } from '../src/core/run-config.ts';
import { askedBy, eventually } from './support/asking-server.ts';
import { call, reply, say, text } from './support/model.ts';
import { counted } from './support/runtimes.ts';
import { createRuntime, type AgentDefinition } from '../src/runtime.ts';
import { ended } from './support/uhp.ts';
import { lastSaid, outputsIn, outputsSince, strictly } from './support/strict-provider.ts';
import { providerOf, startModels } from './support/provided-agent.ts';
import { startModelServer, type ModelServer } from '../src/testing/model-servers/model-server.ts';
import { startWith } from './support/provider.ts';
import { temporaryFolder } from './support/folders.ts';
import type { Body } from './support/event-stream.ts';
import type { ReplyPiece, ScriptedReply } from '../src/testing/model-servers/reply-script.ts';

describe.each([providerOf('OPENROUTER'), providerOf('OPENAI_COMPATIBLE')])('B077: $name', (provider) => {
  test.each([
    ['distinct', ['c1', 'c2', 'c3']],
    ['null', [null, null, null]],
    ['equal', ['c1', 'c1', 'c1']],
  ])('three whole calls under one index with %s ids all run, or the task fails and none does', async (_, ids) => {
    const input = (n: number) => ({ path: `${n}.txt`, content: `content ${n}` });
    const pieces = ids.map((id, n): ReplyPiece => {
      const json = JSON.stringify(input(n));
      return { kind: 'tool-call', id, name: 'write_file', arguments: [json], index: 0 };
    });
    await using server = await startWith(provider, [
      ...Array.from({ length: 4 }, () => reply(...pieces)),
      say('Too late.'),
    ]);
    const { body } = await server.uhp.create({ input: 'go' });
    const workspace = join(server.data, 'workspaces', body.metadata.session_id);
    const made = ids.map((_id, n) => existsSync(join(workspace, `${n}.txt`)));
    const failed = body.status === 'failed';
    expect(made).toEqual([!failed, !failed, !failed]);
    if (failed) expect(body.error).toMatchObject({ code: 'provider_error' });
    for (const n of failed ? [] : ids.keys())
      expect(readFileSync(join(workspace, `${n}.txt`), 'utf8')).toBe(`content ${n}`);
  });
});

const wires = ['ANTHROPIC', 'OPENAI', 'OPENAI_COMPATIBLE', 'GOOGLE_GENERATIVE_AI'].map(providerOf);

describe.each(wires)('B081: $name: what comes of a gated call', (provider) => {
  const gated = (name: string, facts: Parameters<typeof counted>[1] = {}) =>
    counted(name, { permission: 'ask', concurrent: true, ...facts });

  test.each<[string, Parameters<typeof counted>[1], ('approve' | 'deny')[]]>([
    ['approved and it works', {}, ['approve']],
    ['approved and it throws at once', { run: () => Promise.reject(new Error('broken')) }, ['approve']],
    ['approved and it times out', { run: () => new Promise(() => {}), timeoutSeconds: 0.2 }, ['approve']],
    ['denied', {}, ['deny']],
    ['one of two approved, the other denied', {}, ['approve', 'deny']],
    ['both denied', {}, ['deny', 'deny']],
  ])('%s: every call has its one output, and the session goes on', async (_, facts, decisions) => {
    const refusals: string[] = [];
    const calls = decisions.map((_decision, n) => call(`c${n}`, `tool${n}`, {}));
    const answer = (request: Parameters<typeof lastSaid>[1]): ScriptedReply =>
      lastSaid(provider.protocol, request) === 'Go.' && outputsSince(provider.protocol, request) === 0
        ? reply(text('So.'), ...calls)
        : say('Done.');
    await using models = await startModels([[provider, strictly(provider, answer, (why) => refusals.push(why))]]);
    const tools = decisions.map((_decision, n) => gated(`tool${n}`, facts));
    const agent: AgentDefinition = {
      config: {
        ...models.config,
        name: 'worker',
        approvals: { onUnknown: 'tell-model' },
        tools: { abandonAfterSeconds: 0.2 },
      },
      parts: { settings: models.settings, tools },
    };
    await using runtime = createRuntime({ agents: [agent], driver: { kind: 'memory' } });
    const handle = await runtime.submit('Go.', { sessionId: 's' });
    expect(await handle.result()).toMatchObject({ status: 'awaiting-input' });
    for (const [n, decision] of decisions.entries()) {
      const asked = (await runtime.approvals.list()).find(({ pending }) => pending.call.id === `c${n}`);
      await runtime.approvals.decide(asked?.approvalId ?? '', { decision });
    }
    const result = await eventually(async () => {
      const now = await handle.result();
      return now.status === 'completed' ? now : undefined;
    });
    expect([result.output, tools.map(({ runs }) => runs())]).toEqual([
      'Done.',
      decisions.map((decision) => (decision === 'approve' ? 1 : 0)),
    ]);
    expect(await runtime.run('And now?', { sessionId: 's' })).toMatchObject({ output: 'Done.' });
    expect([refusals, models.servers[0]?.requests.length]).toEqual([[], 3]);
  });
});

describe.each(wires)('B091: $name: a call that is stopped', (provider) => {
  const write = (id: string) => call(id, 'write_file', { path: `${id}.txt`, content: 'x' });
  const wait = (id: string) => call(id, 'bash', { command: 'sleep 30' });
  const stalled = (after: number, ...pieces: ReplyPiece[]): ScriptedReply => ({
    ...reply(...pieces),
    fault: { kind: 'stall', after },
  });
  /** What the model says, the items after which it is stopped, and the outputs that the next request has. */
  const stages: Readonly<Record<string, readonly [replies: readonly ScriptedReply[], items: number, outputs: number]>> =
    {
      'while its arguments stream': [[stalled(provider.wholeCalls === true ? 1 : 2, text('So.'), write('a'))], 1, 0],
      'when it is whole, but not its reply': [[stalled(3, text('So.'), write('a'))], 1, 0],
      'while a person is asked': [[reply(text('So.'), call('a', 'bash', { command: 'true' }), write('b'))], 3, 2],
      'while it runs': [[reply(text('So.'), wait('a'))], 2, 1],
      'behind one that has run': [[reply(write('a'), wait('b'), write('c'))], 4, 3],
      'when it has run': [[reply(write('a'), write('b')), stalled(0, text('Never.'))], 4, 2],
      'round after round': [[reply(write('a')), reply(write('b'), write('c'))], 0, 3],
    };
  const refusals: string[] = [];
  let model: ModelServer;
  let server: TestServer;
  const harnesses: Record<string, string> = {};

  beforeAll(async () => {
    const answer = (request: Parameters<typeof lastSaid>[1]) => {
      const [replies] = stages[lastSaid(provider.protocol, request)] ?? [];
      return replies?.[outputsSince(provider.protocol, request) === 0 ? 0 : 1] ?? say('Done.');
    };
    model = await startModelServer(
      provider.protocol,
      strictly(provider, answer, (why) => refusals.push(why)),
    );
    const data = temporaryFolder();
    for (const mode of ['allow-all', 'allow-edits'] as const)
      harnesses[mode] = (await addHarness(data, 'owner', { permissions: { ...allowAll, mode } })).harnessId;
    const env = { [`${provider.prefix}_BASE_URL`]: model.baseURL, [`${provider.prefix}_API_KEY`]: 'key' };
    const settings = { models: { default: provider.model }, agent: { shell: { kind: 'host' } } };
    server = await startServer({ data, env, settings });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await model.close();
  });

  const begin = async (input: string, more: object = {}): Promise<Body> => {
    const mode = input === 'while a person is asked' ? 'allow-edits' : 'allow-all';
    const metadata = { harness_id: harnesses[mode] };
    return (await server.uhp.create({ input, metadata, background: true, ...more })).body;
  };
  const hasItems = (id: string, count: number) =>
    eventually(async () => (await server.uhp.get(id)).body.output.length >= count || undefined);
  const goOn = async (id: string, outputs: number) => {
    const next = await server.uhp.create({ input: 'go on', previous_response_id: id });
    const asked = model.requests.at(-1);
    expect(asked && outputsIn(provider.protocol, asked)).toBe(outputs);
    expect([next.body.status, refusals]).toEqual(['completed', []]);
  };

  const cancelled = Object.keys(stages).filter((stage) => stage !== 'round after round');
  test.each(cancelled)('%s, by a cancel: the next request has an output for every call', async (stage) => {
    const [, items = 0, outputs = 0] = stages[stage] ?? [];
    const task = await begin(stage);
    if (stage === 'while a person is asked') await askedBy(server.uhp, task.id);
    await hasItems(task.id, items);
    expect((await server.uhp.cancel(task.id)).body).toMatchObject({ status: 'cancelled' });
    await goOn(task.id, outputs);
  });

  test.each([
    ['while it runs', { timeout_seconds: 1 }],
    ['round after round', { max_step: 1 }],
  ])('%s, by a limit: the next request has an output for every call', async (stage, limit) => {
    const task = await begin(stage, limit);
    expect(await ended(server.uhp, task.id)).toMatchObject({ status: 'incomplete' });
    await goOn(task.id, stages[stage]?.[2] ?? 0);
  });
});
