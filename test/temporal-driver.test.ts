import { Client, Connection } from '@temporalio/client';
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { checkLog } from '../src/testing/check-log.ts';
import { counted, logOf, ofType } from './support/runtimes.ts';
import { createRuntime } from '../src/runtime.ts';
import { describeDriver, type AgentOfScript } from '../src/testing/driver-contract.ts';
import { describeWithPostgres, openStore as openPostgresStore } from './support/postgres.ts';
import { describeWithTemporal, startTemporal, type TemporalServer } from './support/temporal.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { createScriptedModel, simpleText } from '../src/testing/index.ts';
import { silentLogger } from '../src/core/logger.ts';
import { temporal } from '../src/temporal.ts';
import { workflowIdOf } from '../src/runtimes/temporal/contract.ts';
import type { Hooks } from '../src/engine/hooks.ts';
import type { Runtime } from '../src/runtimes/runtime.ts';
import type { Store } from '../src/stores/store.ts';

type OpenStore = () => Store | Promise<Store>;

/** What a script costs is mostly waiting, so several are played at once; the first ones wait for all that is started. */
describe.concurrent(
  'E-874, E-883, E-889: failures are the outcomes that they are locally, by their names',
  { timeout: 90_000 },
  () => {
    describeWithTemporal('over SQLite', (server) => {
      describeDriver('Temporal, with two workers,', async (agents) => {
        const folder = mkdtempSync(join(tmpdir(), 'reins-temporal-'));
        const openStore = () => openSqlite(join(folder, 'runs.sqlite'));
        return openThree(agents, { server: await server(), openStore, [Symbol.dispose]: () => rmSync(folder, gone) });
      });
    });

    describeWithTemporal('over PostgreSQL', (server) => {
      describeWithPostgres('of its own', (cluster) => {
        // One after the other: each takes the number behind the last.
        let last = Promise.resolve('');
        const database = () => (last = last.then(async () => (await cluster()).database()));
        describeDriver('Temporal, with two workers,', async (agents) => {
          const url = await database();
          const openStore = () => openPostgresStore(url, { connections: 2 });
          return openThree(agents, { server: await server(), openStore, [Symbol.dispose]: () => {} });
        });
      });
    });
  },
);

const gone = { recursive: true, force: true };

/** One that only schedules, beside two that work; the end of the one is the end of all. */
async function openThree(
  agents: readonly AgentOfScript[],
  { server, openStore, ...place }: Disposable & { readonly server: TemporalServer; readonly openStore: OpenStore },
): Promise<Runtime> {
  const { address } = server;
  const taskQueue = randomUUID();
  const open = async (role: 'work' | 'schedule') =>
    createRuntime({ agents, driver: temporal({ address, taskQueue, store: await openStore(), role }) });
  const workers = [await open('work'), await open('work')];
  const runtime = await open('schedule');
  return Object.assign(runtime, {
    async [Symbol.asyncDispose]() {
      await Promise.all([runtime, ...workers].map((each) => each.close({ drainMs: 0 })));
      place[Symbol.dispose]();
    },
  });
}

describeWithTemporal('E-901 on Temporal', (server) => {
  test('hooks hear of a run once, where it is worked on, and of its begin where it was submitted', async () => {
    const heard: string[] = [];
    const hear = (who: string): Hooks =>
      Object.fromEntries(names.map((name) => [name, () => void heard.push(`${who} ${name}`)]));
    const folder = mkdtempSync(join(tmpdir(), 'reins-temporal-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { address } = await server();
    const provider = createScriptedModel([simpleText('Hello.')]);
    const open = (role: 'work' | 'schedule') =>
      createRuntime({
        agents: [{ config: { name: 'worker' }, parts: { provider, hooks: hear(role) } }],
        driver: temporal({ store: openSqlite(join(folder, 'runs.sqlite')), address, taskQueue: 'hooks', role }),
      });
    await using _worker = open('work');
    await using runtime = open('schedule');
    await (await runtime.submit('Go.')).result();
    await vi.waitFor(() => expect(heard).toContain('work run-end'));
    expect(heard).toEqual([
      'schedule run-start',
      ...['step-start', 'model-request', 'model-response', 'step-end', 'checkpoint', 'run-end'].map(
        (name) => `work ${name}`,
      ),
    ]);
  });
});

describeWithTemporal('E-833 on Temporal', (server) => {
  test('a run whose agent no worker has is given up after that was so for long, whoever was asked', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reins-temporal-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { address } = await server();
    const warned: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => void warned.push(message) };
    const open = (role: 'work' | 'schedule', name: string) =>
      createRuntime({
        agents: [{ config: { name }, parts: { provider: createScriptedModel([]) } }],
        recovery: { agentWaitSeconds: 2 },
        driver: temporal({ store: openSqlite(join(folder, 'runs.sqlite')), address, taskQueue: 'agentless', role }),
        logger,
      });
    await using _one = open('work', 'other');
    await using _two = open('work', 'other');
    await using runtime = open('schedule', 'worker');
    const result = await (await runtime.submit('Go.')).result();
    expect(result).toMatchObject({ status: 'failed', error: { type: 'AgentUnavailableError' } });
    expect(warned.filter((message) => message.includes('agent'))).toHaveLength(1);
  }, 60_000);
});

const names = [
  'run-start',
  'step-start',
  'model-request',
  'model-response',
  'step-end',
  'checkpoint',
  'run-end',
] as const;

describeWithTemporal('E-881', () => {
  test('a long run goes through several histories and its log is as if it had one', async () => {
    await using server = await startTemporal({ suggestAt: 60 });
    const replies = Array.from({ length: 12 }, (_, n) => ({
      pieces: [{ kind: 'tool-call', id: `c${n}`, name: 'count', arguments: [`{"n":${n}}`] }] as const,
    }));
    await using runtime = createRuntime({
      agents: [
        {
          config: { name: 'worker' },
          parts: {
            provider: createScriptedModel([...replies, simpleText('Done.')]),
            tools: [counted('count', { replay: 'safe' })],
          },
        },
      ],
      driver: temporal({ store: openSqlite(':memory:'), address: server.address }),
    });
    const run = await runtime.submit('Go.');
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
    const log = await logOf(runtime, run.runId);
    expect(checkLog(log)).toEqual([]);
    expect(ofType(log, 'run-started')).toHaveLength(1);
    expect(ofType(log, 'step-started')).toHaveLength(13);
    const connection = await Connection.connect({ address: server.address });
    const { workflow } = new Client({ connection });
    const histories = [];
    for await (const each of workflow.list({ query: `WorkflowId = '${workflowIdOf(run.runId)}'` }))
      histories.push(each.status.name);
    expect(histories.length).toBeGreaterThan(2);
    expect(histories.filter((status) => status === 'CONTINUED_AS_NEW')).toHaveLength(histories.length - 1);
    await connection.close();
  }, 60_000);
});
