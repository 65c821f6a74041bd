// What a run costs to keep and to open again, however long it gets.

import { createEngineRig } from '../testing/engine-rig.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createRunLog } from '../stores/run-log.ts';
import { counted, openRuntime } from '../../test/support/runtimes.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { foldLog } from '../tasks/fold-log.ts';
import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { openSqlite } from '../stores/sqlite/open-sqlite.ts';
import { silentLogger } from '../core/logger.ts';
import { simpleCall, simpleText, type ScriptedReply } from '../testing/model-servers/reply-script.ts';
import { tmpdir } from 'node:os';
import { admissionOf } from '../testing/store-samples.ts';

/** Bytes of a database, what is still in its write-ahead log included. */
function bytesOf(path: string): number {
  using db = new DatabaseSync(path);
  const [size] = db.prepare('SELECT page_count * page_size AS bytes FROM pragma_page_count, pragma_page_size').all();
  return Number(size?.['bytes']);
}

test('E-840, E-949: 50 steps with 20,000 deltas and 10 MB of tool output take at most three times what was made, and 4 KB a step', async () => {
  const [steps, deltas, answer] = [50, 400, 'x'.repeat(200_000)];
  const chunks = Array.from({ length: deltas }, (_, n) => `word${n % 10} `);
  const asks: ScriptedReply = {
    pieces: [
      { kind: 'text', chunks },
      { kind: 'tool-call', id: 'c', name: 'work', arguments: ['{}'] },
    ],
  };
  const work = counted('work', { run: async () => ({ content: `${work.runs()}${answer}` }) });
  const options = { parts: { tools: [work] }, config: { limits: { loopGuard: null } } };
  await using rig = openRuntime((_, call) => (call < steps ? asks : simpleText('Done.')), options);
  const empty = bytesOf(rig.path);
  expect(await rig.runtime.run('Go.')).toMatchObject({ status: 'completed', output: 'Done.', steps: steps + 1 });
  expect(work.runs()).toBe(steps);
  const made = steps * (chunks.join('').length + answer.length);
  expect(bytesOf(rig.path) - empty).toBeLessThan(3 * made + 4096 * steps);
}, 30_000);

/** A run of so many steps with a tool call each, in a file of its own. */
async function storeSteps(steps: number) {
  const folder = mkdtempSync(join(tmpdir(), 'reins-growth-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'runs.sqlite');
  const rig = createEngineRig({
    replies: (_, index) => (index < steps ? simpleCall(`c${index}`, 'work', { n: index }) : simpleText('Done.')),
    tools: [countingTool('work')],
    limits: { loopGuard: null },
  });
  expect(await rig.run()).toMatchObject({ status: 'completed', steps: steps + 1 });
  const [{ runId, sessionId }, store] = [rig.state(), openSqlite(path)];
  const empty = bytesOf(path);
  await store.admit({ ...admissionOf('grown'), runId, sessionId, events: rig.log.slice(0, 1) });
  for (const [at, until] of rig.commits.entries()) {
    const after = rig.commits[at - 1];
    if (after === undefined) continue;
    await store.append([{ runId, generation: 1, after, events: rig.log.slice(after, until) }], { durable: false });
  }
  return { store, run: { runId, sessionId }, state: rig.state(), events: rig.log.length, bytes: bytesOf(path) - empty };
}

test('E-841: a step costs the log as much at the end of a long run as at its beginning', async () => {
  const [short, long] = [await storeSteps(50), await storeSteps(500)];
  await using _stores = {
    [Symbol.asyncDispose]: async () => {
      for (const { store } of [short, long]) await store[Symbol.asyncDispose]();
    },
  };
  expect(long.bytes / long.events).toBeLessThan(1.1 * (short.bytes / short.events));
});

test('E-843: a run of 500 steps is folded, ready to go on, in less than 100 ms', async () => {
  const { store, run, state } = await storeSteps(500);
  const log = createRunLog({ store, clock: createManualClock(), logger: silentLogger });
  const microseconds: number[] = [];
  // Work of this thread, the least of some rounds: what else the machine does is no cost of ours.
  for (let round = 0; round < 5; round++) {
    const before = process.threadCpuUsage();
    const folded = await foldLog({ log }, run);
    const { user, system } = process.threadCpuUsage(before);
    microseconds.push(user + system);
    expect(folded.state).toEqual(state);
  }
  expect(Math.min(...microseconds)).toBeLessThan(100_000);
  await log.close();
  await store[Symbol.asyncDispose]();
});
