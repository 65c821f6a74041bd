// What a run costs to keep and to open again, however long it gets.

import { createEngineRig } from '../testing/engine-rig.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createRunLog } from '../stores/run-log.ts';
import { counted, openRuntime } from '../../test/support/runtimes.ts';
import { countingTool } from '../testing/counting-tool.ts';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { foldLog } from '../tasks/fold-log.ts';
import { harnessIds } from '../core/ids.ts';
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
