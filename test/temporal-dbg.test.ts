// Runs that are worked on by processes of their own while these, Temporal, or what they say to each other is lost.

import { Client, Connection } from '@temporalio/client';
import { expect, test, vi } from 'vitest';
import { join } from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { agentFor } from './support/temporal-agents.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { createRuntime } from '../src/runtime.ts';
import { describeWithTemporal, startTemporal, type TemporalServer } from './support/temporal.ts';
import { logOf, ofType } from './support/runtimes.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { startProgram, temporaryFolder, type ReinsProcess } from './reins-process.ts';
import { temporal } from '../src/temporal.ts';
import { workflowIdOf } from '../src/runtimes/temporal/contract.ts';
import type { Runtime } from '../src/runtimes/runtime.ts';
import type { RunEvent } from '../src/core/run-event.ts';

interface Place extends AsyncDisposable {
  readonly server: TemporalServer;
  /** Submits, follows and decides, and works on nothing. */
  readonly runtime: Runtime;
  worker(hangs?: 'hangs'): ReinsProcess;
  readonly effects: () => readonly string[];
  /** Lets the slow tool end. */
  open(): void;
}

async function openPlace(): Promise<Place> {
  const folder = temporaryFolder();
  const [database, effects] = [join(folder, 'runs.sqlite'), join(folder, 'effects')];
  writeFileSync(effects, '');
  const server = await startTemporal(join(folder, 'temporal.db'));
  const { address } = server;
  const runtime = createRuntime({
    agents: [agentFor({ effects, hangs: false })],
    driver: temporal({ store: openSqlite(database), address, role: 'schedule' }),
  });
  const env = { REINS_TEST_DATABASE: database, REINS_TEST_EFFECTS: effects, REINS_TEST_TEMPORAL: address };
  return {
    server,
    runtime,
    worker: (hangs) =>
      startProgram(join(import.meta.dirname, 'fixtures/temporal-worker.ts'), [], {
        env: { ...env, ...(hangs === undefined ? {} : { REINS_TEST_HANGS: 'yes' }) },
      }),
    effects: () => readFileSync(effects, 'utf8').split('\n').filter(Boolean),
    open: () => writeFileSync(`${effects}.open`, ''),
    async [Symbol.asyncDispose]() {
      await runtime.close({ drainMs: 0 });
      await server[Symbol.asyncDispose]();
    },
  };
}

const began = 'This process works for Temporal.';
const soon = { timeout: 40_000, interval: 50 };

async function hasSaid(runtime: Runtime, runId: string, type: RunEvent['type']): Promise<void> {
  for await (const event of await runtime.events(runId, { follow: 'run' })) if (event.type === type) return;
}

async function isParked(runtime: Runtime, runId: string): Promise<void> {
  const handle = await runtime.handle(runId);
  await vi.waitFor(async () => expect(await handle.status()).toBe('awaiting-input'), soon);
}

async function approve(runtime: Runtime, runId: string): Promise<void> {
  for (const { approvalId } of await runtime.approvals.list({ runId }))
    await runtime.approvals.decide(approvalId, { decision: 'approve' });
}

describeWithTemporal('runs on Temporal outlast', () => {
  test('E-884: a workflow that is terminated or cancelled from outside ends its run as cancelled', async () => {
    await using place = await openPlace();
    const { runtime, server } = place;
    const w = place.worker(); w.child.stdout?.on('data', (t) => process.stderr.write(t)); w.child.stderr?.on('data', (t) => process.stderr.write(t));
    await w.saw(began);
    const runs = [await runtime.submit('Do slow.'), await runtime.submit('Do slow.')] as const;
    await vi.waitFor(() => expect(place.effects()).toEqual(['slow', 'slow']), soon);
    const connection = await Connection.connect({ address: server.address });
    const { workflow } = new Client({ connection });
    await workflow.getHandle(workflowIdOf(runs[0].runId)).terminate();
    await workflow.getHandle(workflowIdOf(runs[1].runId)).cancel();
    setInterval(async () => { for (const run of runs) { const l: string[] = []; for await (const e of await runtime.events(run.runId, {follow:'leg'})) l.push(e.type+'@'+e.leg); console.error(run.runId, l.join(' ')); } }, 10000);
    for (const run of runs) {
      expect(await run.result()).toMatchObject({ status: 'cancelled' });
      expect(checkLog(await logOf(runtime, run.runId))).toEqual([]);
    }
    await connection.close();
  }, 90_000);
});
