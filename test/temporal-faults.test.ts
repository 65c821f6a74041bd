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
import type { RunId } from '../src/core/ids.ts';
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

async function openPlace({ forgets = false } = {}): Promise<Place> {
  const folder = temporaryFolder();
  const [database, effects] = [join(folder, 'runs.sqlite'), join(folder, 'effects')];
  writeFileSync(effects, '');
  const server = await startTemporal(forgets ? {} : { file: join(folder, 'temporal.db') });
  const { address } = server;
  const runtime = createRuntime({
    agents: [agentFor({ effects, hangs: false })],
    driver: temporal({ store: openSqlite(database), address, role: 'schedule' }),
  });
  // The bundler of workflows keeps a cache there.
  const env = {
    HOME: folder,
    REINS_TEST_DATABASE: database,
    REINS_TEST_EFFECTS: effects,
    REINS_TEST_TEMPORAL: address,
  };
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

async function workflowOf({ address }: TemporalServer, runId: RunId) {
  const connection = await Connection.connect({ address });
  const handle = new Client({ connection }).workflow.getHandle(workflowIdOf(runId));
  return {
    handle,
    events: async () => (await handle.fetchHistory()).events ?? [],
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

describeWithTemporal('runs on Temporal outlast', () => {
  test('E-876, E-877, E-952: a worker that is killed: no reply is shown as if it were whole, no manual effect is repeated, no park is lost', async () => {
    await using place = await openPlace();
    const { runtime } = place;
    const killed = place.worker('hangs');
    await killed.saw(began);
    const other = place.worker();
    const [model, safe, manual, gated] = await Promise.all(
      ['answer', 'safe', 'manual', 'gated'].map((what) => runtime.submit(`Do ${what}.`)),
    );
    if (!model || !safe || !manual || !gated) throw new Error('Nothing was submitted.');
    await hasSaid(runtime, model.runId, 'text-delta');
    await vi.waitFor(() => expect(place.effects().toSorted()).toEqual(['manual', 'safe']), soon);
    await isParked(runtime, gated.runId);
    killed.child.kill('SIGKILL');
    await other.saw(began);
    await approve(runtime, gated.runId);
    const results = [await gated.result(), await model.result(), await safe.result(), await manual.result()];
    expect(results).toMatchObject([
      { status: 'completed', output: 'Done.' },
      { status: 'completed', output: 'Half and half.' },
      { status: 'completed', output: 'Done.' },
      { status: 'awaiting-input' },
    ]);
    const [{ pending } = { pending: null }] = await runtime.approvals.list({ runId: manual.runId });
    await runtime.recovery.resolve(pending?.executionKey ?? '', { result: { content: 'It is done.' } });
    await vi.waitFor(async () => expect(await manual.result()).toMatchObject({ status: 'completed' }), soon);
    expect(place.effects().toSorted()).toEqual(['gated', 'manual', 'safe', 'safe']);
    const logs = await Promise.all([model, safe, manual, gated].map(({ runId }) => logOf(runtime, runId)));
    for (const log of logs) expect(checkLog(log)).toEqual([]);
    const [ofModel = []] = logs;
    expect(ofType(ofModel, 'attempt-reset').map(({ data }) => data)).toMatchObject([
      { reason: 'worker-lost', shown: true },
    ]);
    expect(ofType(ofModel, 'run-started').map(({ data }) => data.cause)).toEqual(['submit', 'recovery']);
    // A leg may begin with a large folder.
    await using workflow = await workflowOf(place.server, gated.runId);
    const asked = (await workflow.events()).flatMap(({ activityTaskScheduledEventAttributes: each }) => each ?? []);
    const appended = asked.filter(({ activityType }) => activityType?.name === 'reins.append.v1');
    expect(appended.map(({ heartbeatTimeout }) => Number(heartbeatTimeout?.seconds))).toContain(20);
  }, 90_000);

  test('E-834: a worker that is stopped in order: another one goes on at once', async () => {
    await using place = await openPlace();
    const stopped = place.worker('hangs');
    await stopped.saw(began);
    const run = await place.runtime.submit('Do safe.');
    await vi.waitFor(() => expect(place.effects()).toEqual(['safe']), soon);
    const other = place.worker();
    await other.saw(began);
    const fromMs = performance.now();
    stopped.child.kill('SIGTERM');
    expect(await run.result()).toMatchObject({ status: 'completed' });
    expect(performance.now() - fromMs).toBeLessThan(15_000);
    expect(await stopped.ended).toMatchObject({ code: 0 });
    expect(place.effects()).toEqual(['safe', 'safe']);
  }, 90_000);

  test('E-870, E-880, E-882: Temporal, and every worker with it, and what they were told meanwhile', async () => {
    await using place = await openPlace();
    const { runtime, server } = place;
    const first = place.worker();
    await first.saw(began);
    const [gated, slow] = [await runtime.submit('Do gated.'), await runtime.submit('Do slow.')];
    await isParked(runtime, gated.runId);
    await vi.waitFor(() => expect(place.effects()).toEqual(['slow']), soon);
    await server.kill();
    // Neither the one nor the other can be told.
    const late = await runtime.submit('Do late.');
    await approve(runtime, gated.runId);
    first.child.kill('SIGKILL');
    place.open();
    await server.start();
    await place.worker().saw(began);
    expect(await Promise.all([gated.result(), late.result(), slow.result()])).toMatchObject([
      { status: 'completed', output: 'Done.' },
      { status: 'completed', output: 'Half and half.' },
      { status: 'completed', output: 'Done.' },
    ]);
    expect(place.effects().toSorted()).toEqual(['gated', 'slow', 'slow']);
  }, 90_000);

  test('E-870, E-873: a Temporal that has forgotten everything: the log knows what was cut off', async () => {
    await using place = await openPlace({ forgets: true });
    const { runtime, server } = place;
    const first = place.worker('hangs');
    await first.saw(began);
    const [model, safe] = [await runtime.submit('Do answer.'), await runtime.submit('Do safe.')];
    await hasSaid(runtime, model.runId, 'text-delta');
    await vi.waitFor(() => expect(place.effects()).toEqual(['safe']), soon);
    await server.kill();
    first.child.kill('SIGKILL');
    await server.start();
    await place.worker().saw(began);
    expect(await Promise.all([model.result(), safe.result()])).toMatchObject([
      { status: 'completed', output: 'Half and half.' },
      { status: 'completed', output: 'Done.' },
    ]);
    const log = await logOf(runtime, model.runId);
    expect(checkLog(log)).toEqual([]);
    expect(ofType(log, 'attempt-reset').map(({ data }) => data.shown)).toEqual([true]);
    expect(place.effects()).toEqual(['safe', 'safe']);
  }, 90_000);

  test('E-884: a cancel from outside of a run whose worker goes before it has heard of it', async () => {
    await using place = await openPlace();
    const { runtime, server } = place;
    const stopped = place.worker('hangs');
    await stopped.saw(began);
    const run = await runtime.submit('Do answer.');
    await hasSaid(runtime, run.runId, 'text-delta');
    await place.worker().saw(began);
    await using workflow = await workflowOf(server, run.runId);
    await workflow.handle.cancel();
    const isAsked = async () =>
      (await workflow.events()).some((event) => event.activityTaskCancelRequestedEventAttributes);
    await vi.waitFor(async () => expect(await isAsked()).toBe(true), soon);
    stopped.child.kill('SIGTERM');
    expect(await run.result()).toMatchObject({ status: 'cancelled', usageIncomplete: true });
    expect(checkLog(await logOf(runtime, run.runId))).toEqual([]);
  }, 90_000);

  test('E-884: a workflow that is terminated or cancelled from outside ends its run as cancelled', async () => {
    await using place = await openPlace();
    const { runtime, server } = place;
    await place.worker().saw(began);
    const runs = [await runtime.submit('Do slow.'), await runtime.submit('Do slow.')] as const;
    await vi.waitFor(() => expect(place.effects()).toEqual(['slow', 'slow']), soon);
    await using first = await workflowOf(server, runs[0].runId);
    await using second = await workflowOf(server, runs[1].runId);
    await first.handle.terminate();
    await second.handle.cancel();
    for (const run of runs) {
      expect(await run.result()).toMatchObject({ status: 'cancelled' });
      expect(checkLog(await logOf(runtime, run.runId))).toEqual([]);
    }
  }, 90_000);
});
