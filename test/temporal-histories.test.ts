// Histories of every released version replay on the workflow as it is now (E-886), with no server.
//
// `REINS_RECORD_HISTORIES=1.2.0` writes those of a version anew, from a real server, into its folder; old ones stay.

import { Client, Connection } from '@temporalio/client';
import { describe, expect, test } from 'vitest';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Worker, type WorkflowBundle } from '@temporalio/worker';
import { bundleWorkflow, installRuntime } from '../src/runtimes/temporal/open-worker.ts';
import { createRuntime } from '../src/runtime.ts';
import { createScriptedModel, simpleText, type ScriptedReply } from '../src/testing/index.ts';
import { counted } from './support/runtimes.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { silentLogger } from '../src/core/logger.ts';
import { startTemporal } from './support/temporal.ts';
import { temporal } from '../src/temporal.ts';
import { workflowIdOf } from '../src/runtimes/temporal/contract.ts';
import type { RunHandle } from '../src/runtimes/durable-runs.ts';
import type { Runtime } from '../src/runtimes/runtime.ts';

const folder = join(import.meta.dirname, 'fixtures/temporal-histories');
const recorded = process.env['REINS_RECORD_HISTORIES'];
const files = globSync('**/*.json', { cwd: folder }).toSorted();

let bundled: Promise<WorkflowBundle> | null = null;
const bundle = () => (bundled ??= bundleWorkflow(silentLogger));

installRuntime(silentLogger);

async function replay(history: unknown): Promise<void> {
  await Worker.runReplayHistory({ workflowBundle: await bundle() }, history, 'reins-run:resp_recorded');
}

describe.skipIf(recorded !== undefined)('E-886, E-889: recorded histories', () => {
  test('there are some', () => expect(files.length).toBeGreaterThanOrEqual(4));

  test.each(files)('%s replays', async (file) => replay(JSON.parse(readFileSync(join(folder, file), 'utf8'))));

  test('one that says something else does not', async () => {
    const [first = ''] = files;
    const text = readFileSync(join(folder, first), 'utf8').replaceAll('reins.callModel.v1', 'reins.callModel.v0');
    await expect(replay(JSON.parse(text))).rejects.toThrow(/Nondeterminism/i);
  });
});

interface Script {
  readonly name: string;
  readonly replies: readonly ScriptedReply[];
  readonly meanwhile?: (runtime: Runtime, run: RunHandle) => Promise<void>;
}

const call = (name: string) => ({ pieces: [{ kind: 'tool-call', id: 'a', name, arguments: ['{}'] }] }) as const;
const scripts: readonly Script[] = [
  { name: 'answer', replies: [simpleText('Hello.')] },
  {
    name: 'tools-and-retry',
    replies: [{ fault: { kind: 'status', status: 503 } }, call('free'), call('nothing'), simpleText('Done.')],
  },
  {
    name: 'approval',
    replies: [call('gated'), simpleText('Done.')],
    async meanwhile(runtime, run) {
      await run.result();
      for (const { approvalId } of await runtime.approvals.list({ runId: run.runId }))
        await runtime.approvals.decide(approvalId, { decision: 'approve' });
      for await (const { type, leg } of run.stream({ follow: 'run' })) if (type === 'run-result' && leg === 2) return;
    },
  },
  {
    name: 'cancel',
    replies: [call('endless')],
    async meanwhile(runtime, run) {
      for await (const { type } of run.stream({ follow: 'run' }))
        if (type === 'tool-dispatched') await runtime.cancel(run.runId);
    },
  },
];

describe.runIf(recorded !== undefined)('recording', () => {
  test.each(scripts)(
    '$name',
    async ({ name, replies, meanwhile }) => {
      await using server = await startTemporal();
      const endless = counted('endless', {
        run: (_, { signal }) => new Promise((done) => signal.addEventListener('abort', () => done({ content: '' }))),
      });
      const tools = [counted('free'), counted('gated', { permission: 'ask' }), endless];
      await using runtime = createRuntime({
        agents: [{ config: { name: 'worker' }, parts: { provider: createScriptedModel(replies), tools } }],
        driver: temporal({ store: openSqlite(':memory:'), address: server.address }),
      });
      const run = await runtime.submit('Go.');
      await meanwhile?.(runtime, run);
      await run.result();
      const connection = await Connection.connect({ address: server.address });
      const workflow = new Client({ connection }).workflow.getHandle(workflowIdOf(run.runId));
      await workflow.result().catch(() => {});
      const history = await workflow.fetchHistory();
      mkdirSync(join(folder, recorded ?? ''), { recursive: true });
      const text = JSON.stringify(JSON.parse(historyToJSON(history))).replaceAll(
        `${process.pid}@${hostname()}`,
        'recorder',
      );
      writeFileSync(join(folder, recorded ?? '', `${name}.json`), `${text}\n`);
      await connection.close();
    },
    60_000,
  );
});
