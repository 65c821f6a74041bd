import { expect, test } from 'vitest';
import { join } from 'node:path';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { advanceRun, loadRun, StretchLeftError, type Stage, type WorkerServices } from './advance-run.ts';
import { checkLog } from '../../testing/check-log.ts';
import { createRuntime } from '../../runtime.ts';
import { idleDriver } from '../../../test/support/idle-driver.ts';
import { createScriptedModel } from '../../testing/scripted-model.ts';
import { decide } from '../../engine/decide.ts';
import { defineTool } from '../../engine/define-tool.ts';
import { createManualClock } from '../../testing/manual-clock.ts';
import { RuntimeStateError, StorageError } from '../../core/errors.ts';
import { openSqlite } from '../../stores/sqlite/open-sqlite.ts';
import { simpleText, type ScriptedReply } from '../../testing/model-servers/reply-script.ts';
import type { Runtime } from '../runtime.ts';
import type { RunEvent } from '../../core/run-event.ts';
import type { RunId } from '../../core/ids.ts';
import type { Store } from '../../stores/store.ts';
import type { Clock } from '../../core/clock.ts';

const call: ScriptedReply = { pieces: [{ kind: 'tool-call', id: 'a', name: 'once', arguments: ['{}'] }] };

interface TwoOptions {
  /** What the tool does. */
  readonly run?: () => string | Promise<string>;
  /** Whether the store takes no events, after so many calls of the model. */
  readonly isDown?: (calls: number) => boolean;
  readonly clock?: Clock;
}

/** Two processes over one file whose runs nobody starts: each stretch is asked for by the test. */
function openTwo(
  replies: readonly ScriptedReply[],
  { run = () => 'did', isDown = () => false, clock }: TwoOptions = {},
) {
  const path = join(mkdtempSync(join(tmpdir(), 'reins-stretch-')), 'runs.sqlite');
  const model = createScriptedModel(replies);
  const once = defineTool({ name: 'once', description: 'Once.', input: { type: 'object', properties: {} }, run });
  const workers: WorkerServices[] = [];
  const openStore = (): Store => {
    const real = openSqlite(path);
    return {
      ...real,
      async append(batch, options) {
        if (isDown(model.calls.length)) throw new StorageError('The disk is full.');
        return real.append(batch, options);
      },
    };
  };
  const open = () =>
    createRuntime({
      ...(clock === undefined ? {} : { clock }),
      agents: [
        {
          config: { name: 'worker', approvals: { onUnknown: 'tell-model' } },
          parts: { provider: model, tools: [once] },
        },
      ],
      driver: idleDriver(openStore(), ({ services, watch }) => void workers.push({ ...services, watch })),
    });
  const runtimes = [open(), open()] as const;
  const [first, second] = workers;
  if (first === undefined || second === undefined) throw new Error('No workers.');
  return {
    runtime: runtimes[0],
    first,
    second,
    model,
    async [Symbol.asyncDispose]() {
      for (const each of runtimes) await each.close({ drainMs: 0 });
    },
  };
}

async function generationOf({ store }: WorkerServices, runId: RunId): Promise<number> {
  return (await store.run(runId))?.generation ?? 0;
}

async function logOf(runtime: Runtime, runId: RunId): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of await runtime.events(runId, { follow: 'run' })) events.push(event);
  return events;
}

const next = async (worker: WorkerServices, runId: RunId, stage: Stage) =>
  advanceRun(worker, { runId, stage, generation: await generationOf(worker, runId) });

test('E-871: stretch by stretch, by one worker and the other, a run comes to its end in one leg', async () => {
  await using two = openTwo([call, simpleText('Done.')]);
  const { runtime, first, second } = two;
  const { runId } = await runtime.submit('Go.');
  const commands: string[] = [];
  const stages = { 'open-step': 'call-model', 'run-tools': 'run-tools', finish: 'close' } as const;
  for (let standing = await loadRun(first, { v: 1, runId }), turn = 0; standing.at === 'open'; turn++) {
    const { do: command } = decide(standing.outline);
    commands.push(command);
    if (command !== 'open-step' && command !== 'run-tools' && command !== 'finish') throw new Error(command);
    const worker = turn % 2 === 0 ? first : second;
    standing = await advanceRun(worker, { runId, stage: stages[command], generation: standing.generation });
  }
  expect(commands).toEqual(['open-step', 'run-tools', 'open-step', 'finish']);
  const log = await logOf(runtime, runId);
  expect(checkLog(log)).toEqual([]);
  expect(log.map(({ type }) => type).filter((type) => type === 'run-started')).toHaveLength(1);
  expect(log.at(-1)).toMatchObject({ type: 'run-result', data: { status: 'completed', output: 'Done.' } });
});

test('E-873: a stretch that the log does not ask for changes nothing', async () => {
  await using two = openTwo([simpleText('Done.')]);
  const { runId } = await two.runtime.submit('Go.');
  for (const stage of ['close', 'run-tools', 'append'] as const)
    expect(await next(two.first, runId, stage)).toMatchObject({ at: 'open', outline: { open: null, last: null } });
  expect(await two.first.store.run(runId)).toMatchObject({ lastSeq: 1, owner: null });
});

test('E-875: who is given a stretch while another calls the model for it calls none', async () => {
  await using two = openTwo([simpleText('One.'), simpleText('Two.')]);
  const { runtime, first, second, model } = two;
  const { runId } = await runtime.submit('Go.');
  const stretch = { runId, stage: 'call-model', generation: await generationOf(first, runId) } as const;
  const calling = advanceRun(first, stretch);
  await expect.poll(() => model.calls.length).toBe(1);
  await Promise.allSettled([calling, advanceRun(second, stretch)]);
  expect(model.calls).toHaveLength(1);
  await advanceRun(second, stretch);
  expect(model.calls).toHaveLength(1);
});

test('E-875, E-876: of two who are given one stretch no more than one calls the model; the late words of who lost it are refused', async () => {
  await using two = openTwo([simpleText('One.'), simpleText('Two.')]);
  const { runtime, first, second, model } = two;
  const { runId } = await runtime.submit('Go.');
  const stretch = { runId, stage: 'call-model', generation: await generationOf(first, runId) } as const;
  await Promise.allSettled([advanceRun(first, stretch), advanceRun(second, stretch)]);
  // The second may have come before the first had got so far.
  const calls = model.calls.length;
  expect(calls).toBeLessThanOrEqual(1);
  // Given to a third, the outcome stands, or what was cut is written down; then it goes on.
  await advanceRun(second, stretch);
  expect(model.calls).toHaveLength(calls);
  for (let tries = 0; tries < 4 && (await first.store.run(runId))?.status === 'running'; tries++) {
    await next(first, runId, 'call-model');
    await next(second, runId, 'close');
  }
  const log = await logOf(runtime, runId);
  expect(checkLog(log)).toEqual([]);
  expect(log.at(-1)).toMatchObject({ data: { status: 'completed' } });
});

test('E-876: a manual tool that was cut off is not run by who comes second', async () => {
  let runs = 0;
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<string>();
  await using two = openTwo([call, simpleText('Done.')], {
    run() {
      runs += 1;
      begun.resolve();
      return over.promise;
    },
  });
  const { runtime, first, second } = two;
  const { runId } = await runtime.submit('Go.');
  await next(first, runId, 'call-model');
  const stretch = { runId, stage: 'run-tools', generation: await generationOf(first, runId) } as const;
  const lost = advanceRun(first, stretch).catch(() => null);
  await begun.promise;
  const standing = await advanceRun(second, stretch);
  expect(standing).toMatchObject({ at: 'open' });
  over.resolve('late');
  await lost;
  for (const stage of ['run-tools', 'call-model', 'close'] as const) await next(second, runId, stage);
  expect(runs).toBe(1);
  const log = await logOf(runtime, runId);
  expect(checkLog(log)).toEqual([]);
  expect(log.flatMap((event) => (event.type === 'tool-call-complete' ? [event.data.outcome] : []))).toEqual([
    'unknown',
  ]);
  expect(JSON.stringify(log)).not.toContain('late');
});

test('E-885: a store that takes nothing for a while is waited for by the stretch; its model is called once', async () => {
  let refusals = 0;
  await using two = openTwo([simpleText('Done.')], { isDown: (calls) => calls > 0 && refusals++ < 5 });
  const { runtime, first, model } = two;
  const { runId } = await runtime.submit('Go.');
  for (const stage of ['call-model', 'close'] as const) await next(first, runId, stage);
  expect(refusals).toBeGreaterThan(5);
  expect(model.calls).toHaveLength(1);
  const log = await logOf(runtime, runId);
  expect(checkLog(log)).toEqual([]);
  expect(log.filter(({ type }) => type === 'attempt-reset' || type === 'gap')).toEqual([]);
  expect(log.at(-1)).toMatchObject({ data: { status: 'completed', output: 'Done.' } });
});

test('E-885, E-143: one that takes nothing for longer has the stretch left, and its cut is written down before the next call', async () => {
  const clock = createManualClock();
  let down = true;
  await using two = openTwo([simpleText('One.'), simpleText('Two.')], { clock, isDown: (calls) => calls > 0 && down });
  const { runtime, first, second, model } = two;
  const inTime = async <T>(work: Promise<T>): Promise<T> => {
    const how = { isOver: false };
    const settled = work.finally(() => (how.isOver = true));
    settled.catch(() => {});
    while (!how.isOver) await clock.advance(10);
    return settled;
  };
  const { runId } = await inTime(runtime.submit('Go.'));
  const stretch = { runId, stage: 'call-model', generation: await generationOf(first, runId) } as const;
  await expect(inTime(advanceRun(first, stretch))).rejects.toThrow(StretchLeftError);
  down = false;
  const standing = await inTime(advanceRun(second, stretch));
  expect([standing.at, model.calls.length]).toEqual(['open', 1]);
  for (const stage of ['call-model', 'close'] as const) await inTime(next(second, runId, stage));
  const log = await logOf(runtime, runId);
  expect(checkLog(log)).toEqual([]);
  expect(log.flatMap((event) => (event.type === 'attempt-reset' ? [event.data.reason] : []))).toEqual(['worker-lost']);
  expect(log.at(-1)).toMatchObject({ data: { status: 'completed', output: 'Two.' } });
});

const refused: ScriptedReply = { fault: { kind: 'status', status: 503 } };
const halfSaid: ScriptedReply = {
  pieces: [{ kind: 'text', chunks: ['Half', ' and half.'] }],
  fault: { kind: 'stall', after: 1 },
};

/** A first attempt that was refused, and a second that has begun to answer when its process is stopped in order. */
async function stopInSecondAttempt({ first, runtime }: Awaited<ReturnType<typeof openTwo>>) {
  const { runId } = await runtime.submit('Go.');
  await next(first, runId, 'call-model');
  const stretch = { runId, stage: 'call-model', generation: await generationOf(first, runId) } as const;
  const work = advanceRun(first, stretch);
  work.catch(() => {});
  for await (const { type } of await runtime.events(runId, { follow: 'run' })) if (type === 'text-delta') break;
  first.runs.stop(runId, 'shutdown');
  await expect(work).rejects.toThrow(StretchLeftError);
  return stretch;
}

/** It was cut once, and then it was answered. */
async function expectWhole({ runtime, model }: Awaited<ReturnType<typeof openTwo>>, runId: RunId): Promise<void> {
  expect(model.calls).toHaveLength(3);
  const log = await logOf(runtime, runId);
  expect(checkLog(log)).toEqual([]);
  const resets = log.flatMap((event) => (event.type === 'attempt-reset' ? [event.data] : []));
  expect(resets).toMatchObject([
    { attempt: 1, shown: false },
    { attempt: 2, shown: true, reason: 'worker-lost' },
  ]);
  const said = log.flatMap((event) => (event.type === 'text-delta' && event.attempt === 3 ? [event.data] : []));
  expect(said.join('')).toBe('Half and half.');
  expect(log.at(-1)).toMatchObject({ data: { status: 'completed', output: 'Half and half.', usageIncomplete: true } });
}

test('E-062, E-123, E-810: a later attempt that is stopped in order while it streams is written down as cut, and answered anew', async () => {
  await using two = openTwo([refused, halfSaid, simpleText('Half and half.')]);
  const stretch = await stopInSecondAttempt(two);
  const { runId } = stretch;
  expect(await advanceRun(two.second, stretch)).toMatchObject({ at: 'open' });
  expect(two.model.calls).toHaveLength(2);
  for (const stage of ['call-model', 'close'] as const) await next(two.second, runId, stage);
  await expectWhole(two, runId);
});

test('E-810, E-873: so it is where its workflow is forgotten; one that knows of its owner hears of nothing that was cut', async () => {
  await using two = openTwo([refused, halfSaid, simpleText('Half and half.')]);
  const { runId, generation: planned } = await stopInSecondAttempt(two);
  const generation = planned + 1;
  expect(await generationOf(two.second, runId)).toBe(generation);
  expect(await loadRun(two.second, { v: 1, runId, generation })).toMatchObject({ at: 'open', generation });
  expect(await loadRun(two.second, { v: 1, runId, generation: planned })).toMatchObject({ generation: planned });
  const standing = await loadRun(two.second, { v: 1, runId });
  expect(standing).toMatchObject({ at: 'open', generation: planned });
  await advanceRun(two.second, { runId, stage: 'call-model', generation: planned });
  expect(two.model.calls).toHaveLength(2);
  for (const stage of ['call-model', 'close'] as const) await next(two.second, runId, stage);
  await expectWhole(two, runId);
});

test('E-214, E-873: a retry that is not due yet is not cut, whoever asks', async () => {
  await using two = openTwo([{ fault: { kind: 'status', status: 503, headers: { 'retry-after': '60' } } }]);
  const { runId } = await two.runtime.submit('Go.');
  const planned = await generationOf(two.first, runId);
  await next(two.first, runId, 'call-model');
  const generation = await generationOf(two.first, runId);
  expect(await loadRun(two.second, { v: 1, runId })).toMatchObject({ at: 'open', generation });
  const again = await advanceRun(two.second, { runId, stage: 'call-model', generation: planned });
  expect(again).toMatchObject({ at: 'open', generation });
  expect(two.model.calls).toHaveLength(1);
});

test('E-062, E-884: a run that is cancelled after its worker was lost says that the usage of its last call is unknown', async () => {
  await using two = openTwo([refused, halfSaid]);
  const { runId, generation } = await stopInSecondAttempt(two);
  await two.second.store.requestCancel(runId);
  expect(await advanceRun(two.second, { runId, stage: 'close', generation })).toMatchObject({ at: 'over' });
  const log = await logOf(two.runtime, runId);
  expect(checkLog(log)).toEqual([]);
  expect(log.at(-1)).toMatchObject({ data: { status: 'cancelled', usageIncomplete: true } });
});

test('E-884: who asks for a stop before the work is there to hear it is heard once it is, and no effect is begun', async () => {
  await using two = openTwo([simpleText('Done.')]);
  const { runId } = await two.runtime.submit('Go.');
  const stretch = { runId, stage: 'call-model', generation: await generationOf(two.first, runId) } as const;
  await expect(advanceRun(two.first, { ...stretch, stopBy: () => 'shutdown' })).rejects.toThrow(StretchLeftError);
  const generation = await generationOf(two.first, runId);
  expect(await advanceRun(two.first, { ...stretch, generation, stopBy: () => 'cancel' })).toEqual({ v: 1, at: 'over' });
  expect(two.model.calls).toHaveLength(0);
  expect((await logOf(two.runtime, runId)).at(-1)).toMatchObject({ data: { status: 'cancelled' } });
});

test("E-440: a shorter conversation cannot be asked for where each step may be another process's, and that is said", async () => {
  await using two = openTwo([simpleText('Done.')]);
  const { runId } = await two.runtime.submit('Go.');
  const asked = two.runtime.compact(runId);
  await expect(asked).rejects.toThrow(RuntimeStateError);
  await expect(asked).rejects.toThrow('scheduler');
});
