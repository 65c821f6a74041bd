// E-819: a pause lets what runs end, and a resume repeats nothing.

import { afterEach, describe, expect, test } from 'vitest';
import { acceptTask } from '../src/tasks/accept-task.ts';
import { allowAll } from '../src/core/run-config.ts';
import { awaitResponse, readResponse } from '../src/tasks/read-response.ts';
import { call, createGate, hold, reply, say, startModel, text, type Gate, type TestModel } from './support/model.ts';
import { cancelTask } from '../src/tasks/cancel-task.ts';
import { composeLocal } from '../src/compose.ts';
import { decideApproval } from '../src/tasks/decide-approval.ts';
import { eventually } from './support/asking-server.ts';
import { loadConfig } from '../src/config.ts';
import { NotFoundError } from '../src/core/errors.ts';
import { parseCreateResponse } from '../src/protocol/uhp/request.ts';
import { pauseRun } from '../src/tasks/pause-run.ts';
import { resumeRun } from '../src/tasks/resume-run.ts';
import { superviseRuns } from '../src/tasks/supervise-runs.ts';
import { temporaryFolder } from './support/folders.ts';
import type { RunId } from '../src/core/ids.ts';
import type { Services } from '../src/tasks/services.ts';

const list = call('l', 'list_files', {});
const write = call('w', 'write_file', { path: 'made.txt', content: 'made' });
const replies = {
  look: [reply(text('Looking '), hold, list), say('Done.')],
  write: [reply(write), say('Done.')],
};

interface Bench {
  readonly services: Services;
  readonly model: TestModel;
  readonly gate: Gate;
  start(input: keyof typeof replies): Promise<RunId>;
}

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each[Symbol.asyncDispose]();
});

async function open(): Promise<Bench> {
  const gate = createGate();
  const model = await startModel((said) => (said === 'look' || said === 'write' ? replies[said] : undefined), gate);
  const config = loadConfig({
    flags: { data: temporaryFolder() },
    env: model.env,
    readFile: () => JSON.stringify(model.settings),
  });
  const local = composeLocal(config, { cwd: temporaryFolder() });
  opened.push(model, local);
  const { services } = local;
  const record = await services.store.harness(await local.harness());
  if (record === null) throw new Error('There is no harness.');
  await services.store.putHarness({ ...record, permissions: { ...allowAll, mode: 'allow-reads' } });
  const start = async (input: string) => {
    const body = parseCreateResponse({ input });
    return (await acceptTask(services, { principal: 'owner', body, idempotency: null })).runId;
  };
  return { services, model, gate, start };
}

const phaseOf = async ({ services }: Bench, runId: RunId) => (await services.store.run(runId))?.phase;
const reached = (bench: Bench, runId: RunId, phase: string) =>
  eventually(async () => (await phaseOf(bench, runId)) === phase || undefined);
const resultOf = (bench: Bench, runId: RunId) => awaitResponse(bench.services, runId, AbortSignal.timeout(5_000));

describe('E-819: pause and resume', () => {
  test('the call that runs is let end; nothing more is done until it is resumed; nothing is done again', async () => {
    const bench = await open();
    const { services, model, gate } = bench;
    const runId = await bench.start('look');
    await eventually(() => model.asked('look').length > 0 || undefined);
    expect(await pauseRun(services, 'owner', runId)).toMatchObject({ control: 'pause', phase: 'active' });
    gate.open();
    await reached(bench, runId, 'paused');
    expect(await services.store.run(runId)).toMatchObject({ owner: null, status: 'running' });
    await superviseRuns(services);
    expect([await phaseOf(bench, runId), model.asked('look').length]).toEqual(['paused', 1]);
    expect(await readResponse(services, 'owner', runId)).toMatchObject({ status: 'in_progress' });
    expect(await resumeRun(services, 'owner', runId)).toBe(true);
    expect(await resumeRun(services, 'owner', runId)).toBe(false);
    expect(await resultOf(bench, runId)).toMatchObject({ status: 'completed' });
    expect(model.asked('look')).toHaveLength(2);
  });

  test('one that waits for a person stays paused when that has been said', async () => {
    const bench = await open();
    const { services, model } = bench;
    const runId = await bench.start('write');
    await reached(bench, runId, 'waiting');
    expect(await resumeRun(services, 'owner', runId)).toBe(false);
    await pauseRun(services, 'owner', runId);
    const [asked] = await services.store.approvals({ principal: 'owner', runId, status: 'open', limit: 1 });
    const verdict = { verb: 'decide', decision: 'deny', argsDigest: null, note: null, remember: null } as const;
    await decideApproval(services, 'owner', { approvalId: asked?.approvalId ?? '', verdict });
    await superviseRuns(services);
    expect([await phaseOf(bench, runId), model.asked('write').length]).toEqual(['waiting', 1]);
    expect(await resumeRun(services, 'owner', runId)).toBe(true);
    expect(await resultOf(bench, runId)).toMatchObject({ status: 'completed' });
  });

  test('a resume before that waits again, and asks nothing twice', async () => {
    const bench = await open();
    const { services } = bench;
    const runId = await bench.start('write');
    await reached(bench, runId, 'waiting');
    await pauseRun(services, 'owner', runId);
    expect(await resumeRun(services, 'owner', runId)).toBe(true);
    await reached(bench, runId, 'waiting');
    expect(await services.store.approvals({ principal: 'owner', runId, status: 'all', limit: 9 })).toHaveLength(1);
  });

  test('E-812: a cancel beats a pause, before and after it', async () => {
    const bench = await open();
    const { services, gate, model } = bench;
    const runId = await bench.start('look');
    await eventually(() => model.asked('look').length > 0 || undefined);
    await pauseRun(services, 'owner', runId);
    gate.open();
    await reached(bench, runId, 'paused');
    const startedMs = performance.now();
    expect(await cancelTask(services, 'owner', runId)).toMatchObject({ status: 'cancelled' });
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    expect(await pauseRun(services, 'owner', runId)).toMatchObject({ status: 'cancelled' });
    expect(await resumeRun(services, 'owner', runId)).toBe(false);
  });

  test('U-042: another’s run is not there', async () => {
    const bench = await open();
    const runId = await bench.start('write');
    await expect(pauseRun(bench.services, 'other', runId)).rejects.toBeInstanceOf(NotFoundError);
    await expect(resumeRun(bench.services, 'other', runId)).rejects.toBeInstanceOf(NotFoundError);
    await reached(bench, runId, 'waiting');
  });
});
