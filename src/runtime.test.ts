import { collect, noSettings } from '../test/support/agents.ts';
import { ConfigurationError } from './core/errors.ts';
import { counted, eventually, held, openRuntime, standing, testClock, theOpen } from '../test/support/runtimes.ts';
import { createRuntime } from './runtime.ts';
import { createScriptedModel } from './testing/scripted-model.ts';
import { expect, test } from 'vitest';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { openSqlite } from './stores/sqlite/open-sqlite.ts';
import { simpleCall, simpleText } from './testing/model-servers/reply-script.ts';
import { tmpdir } from 'node:os';
import type { HookName, Hooks } from './engine/hooks.ts';

const done = simpleText('Done.');
const agentOf = (name: string) => ({
  config: { name },
  parts: { provider: createScriptedModel([done]), settings: noSettings },
});

test('E-020: no agent, two of one name, or one that can never work is refused at once', () => {
  const driver = { kind: 'memory' } as const;
  for (const agents of [
    [],
    [agentOf('one'), agentOf('one')],
    [{ config: { model: 'no/such' }, parts: { settings: noSettings } }],
  ])
    expect(() => createRuntime({ agents, driver })).toThrow(ConfigurationError);
});

test('a runtime in memory is gone with it, and has all verbs', async () => {
  await using runtime = createRuntime({ agents: [agentOf('one')], driver: { kind: 'memory' } });
  expect(await runtime.run('Go.', { requestId: 'mine' })).toMatchObject({ output: 'Done.', requestId: 'mine' });
});

test('a store of the caller’s is closed with the runtime, once', async () => {
  let closed = 0;
  const store = openSqlite(':memory:');
  const own = {
    ...store,
    async [Symbol.asyncDispose]() {
      closed += 1;
      await store[Symbol.asyncDispose]();
    },
  };
  const runtime = createRuntime({ agents: [agentOf('one')], driver: { kind: 'store', store: own } });
  await runtime.run('Go.');
  await Promise.all([runtime.close(), runtime[Symbol.asyncDispose]()]);
  expect(closed).toBe(1);
});

test('E-830: a scan that fails is logged, and the next one goes on', async () => {
  const errors: string[] = [];
  const store = openSqlite(':memory:');
  let fails = 3;
  const unfinishedRuns = async () => {
    if (fails-- > 0) throw new Error('The disk is asleep.');
    return store.unfinishedRuns();
  };
  const logger = { info() {}, warn() {}, error: (message: string) => void errors.push(message) };
  const driver = { kind: 'store', store: { ...store, unfinishedRuns } } as const;
  await using runtime = createRuntime({ agents: [agentOf('one')], driver, clock: testClock(), logger });
  await eventually(() => fails < 0 || undefined);
  expect(new Set(errors)).toEqual(new Set(['The scan of runs failed.']));
  expect((await runtime.run('Go.')).ok).toBe(true);
});

test('E-901: hooks are told of each leg, of sub-agents as well, and each event once, over a restart', async () => {
  const told: string[] = [];
  const hooksOf = (who: string): Hooks => {
    const names = ['run-start', 'run-end', 'tool-start'] as const satisfies HookName[];
    return Object.fromEntries(names.map((name) => [name, () => void told.push(`${who} ${name}`)]));
  };
  const subagent = {
    name: 'helper',
    description: 'Helps.',
    parts: { provider: createScriptedModel([simpleText('Helped.')]), hooks: hooksOf('helper') },
  };
  const replies = [simpleCall('d', 'delegate_helper', { task: 'Help.' }), simpleCall('a', 'risky', {}), done];
  const tools = [counted('risky', { permission: 'ask' })];
  await using rig = openRuntime(replies, { parts: { tools, subagents: [subagent], hooks: hooksOf('worker') } });
  const { runId } = await rig.runtime.submit('Go.');
  await standing(rig.runtime, runId, 'awaiting-input');
  await rig.restart();
  await rig.runtime.approvals.decide((await theOpen(rig.runtime)).approvalId, { decision: 'approve' });
  await standing(rig.runtime, runId, 'completed');
  const end = 'worker run-end';
  await eventually(() => told.filter((each) => each === end).length === 2 || undefined);
  const leg = ['worker run-start', 'worker tool-start', 'helper run-start', 'helper run-end', end];
  expect(told).toEqual([...leg, 'worker run-start', 'worker tool-start', end]);
});

test('E-901: of two sub-agents that are alike but for their hooks, those are told whose it is, over a restart', async () => {
  const told: string[] = [];
  const helper = (whose: string) => ({
    name: 'helper',
    description: 'Helps.',
    parts: {
      provider: createScriptedModel([simpleCall('a', 'risky', {}), simpleText('Helped.')]),
      tools: [counted('risky', { permission: 'ask' })],
      hooks: { 'run-start': () => void told.push(whose) },
    },
  });
  const replies = [simpleCall('d', 'delegate_helper', { task: 'Help.' }), done];
  const other = { config: { name: 'other' }, parts: { ...agentOf('other').parts, subagents: [helper('other')] } };
  await using rig = openRuntime(replies, { parts: { subagents: [helper('worker')] }, agents: [other] });
  const { runId } = await rig.runtime.submit('Go.', { agent: 'worker' });
  await standing(rig.runtime, runId, 'awaiting-input');
  await rig.restart();
  await rig.runtime.approvals.decide((await theOpen(rig.runtime)).approvalId, { decision: 'approve' });
  await standing(rig.runtime, runId, 'completed');
  await eventually(() => told.length >= 2 || undefined);
  expect(told).toEqual(['worker', 'worker']);
});

test('E-834: a runtime that is closed at once has looked at its runs before its store is closed', async () => {
  const store = openSqlite(':memory:');
  const order: string[] = [];
  const unfinishedRuns = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    order.push('scan');
    return store.unfinishedRuns();
  };
  const own = {
    ...store,
    unfinishedRuns,
    async [Symbol.asyncDispose]() {
      order.push('closed');
      await store[Symbol.asyncDispose]();
    },
  };
  await createRuntime({ agents: [agentOf('one')], driver: { kind: 'store', store: own } }).close();
  expect(order).toEqual(['scan', 'closed']);
});

test('each agent works in its own folder; one that has none, in the current one', async () => {
  const workspace = mkdtempSync(`${tmpdir()}/reins-folder-`);
  const seen: string[] = [];
  const where = counted('where', { run: async (_, { workspace: folder }) => (seen.push(folder), { content: folder }) });
  const parts = () => ({
    provider: createScriptedModel([simpleCall('a', 'where', {}), done]),
    settings: noSettings,
    tools: [where],
  });
  const agents = [
    { config: { name: 'one' }, parts: { ...parts(), workspace } },
    { config: { name: 'two' }, parts: parts() },
  ];
  await using runtime = createRuntime({ agents, driver: { kind: 'memory' } });
  for (const agent of ['one', 'two']) await runtime.run('Go.', { agent });
  expect(seen).toEqual([realpathSync(workspace), realpathSync('.')]);
  rmSync(workspace, { recursive: true });
});

test('E-024, E-834: what an agent works with is closed when its runs are at rest, and before the store', async () => {
  const order: string[] = [];
  const { tool, begun, open } = held('work');
  const store = openSqlite(':memory:');
  const own = {
    ...store,
    async [Symbol.asyncDispose]() {
      order.push('store');
      await store[Symbol.asyncDispose]();
    },
  };
  const provider = createScriptedModel([simpleCall('a', 'work', {}), done]);
  const noted = {
    ...tool,
    run: async (...args: Parameters<typeof tool.run>) => tool.run(...args).finally(() => order.push('tool')),
  };
  const runtime = createRuntime({
    agents: [{ config: { name: 'one' }, parts: { provider, settings: noSettings, tools: [noted] } }],
    driver: { kind: 'store', store: own },
  });
  const handle = await runtime.submit('Go.');
  const events = collect(handle.stream());
  await begun;
  const closing = runtime.close();
  open();
  expect((await events).at(-1)).toMatchObject({ data: { status: 'completed' } });
  await closing;
  expect(order).toEqual(['tool', 'store']);
});
