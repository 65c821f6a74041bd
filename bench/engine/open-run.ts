import { createReinsRuntime } from './reins.ts';
import { createRunLog } from '../../src/stores/run-log.ts';
import { createSharedModel, toolName } from './shared-model.ts';
import { foldLog } from '../../src/tasks/fold-log.ts';
import { join } from 'node:path';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { statSync } from 'node:fs';
import { systemClock } from '../../src/system.ts';
import { temporaryFolder } from '../server-pair.ts';

export interface OpenedRun {
  /** Each from opening the file to the state that the engine goes on from. */
  readonly openMs: readonly number[];
  /** Size of the file, schema and all. */
  readonly fileBytes: number;
}

/** A durable run of so many steps, and what it takes to open it again. */
export async function openRun(steps: number): Promise<OpenedRun> {
  using folder = temporaryFolder();
  const path = join(folder.path, 'runs.sqlite');
  const place = await work(path, steps);
  const fileBytes = statSync(path).size;
  const openMs: number[] = [];
  for (let time = 0; time < 7; time++) {
    const startedAt = performance.now();
    await using store = openSqlite(path);
    const log = createRunLog({ store, clock: systemClock, logger: silentLogger });
    const { state } = await foldLog({ log }, place);
    openMs.push(performance.now() - startedAt);
    if (state.toolRounds !== steps) throw new Error(`The log tells of ${state.toolRounds} steps.`);
  }
  return { openMs, fileBytes };
}

async function work(path: string, steps: number) {
  const shared = createSharedModel();
  const tool = { name: toolName, description: 'Counts.', run: (input: unknown) => `Counted ${JSON.stringify(input)}.` };
  await using runtime = createReinsRuntime({ model: shared.model, tool }, path);
  shared.begin({ kind: 'steps', count: steps });
  const { runId, sessionId } = await runtime.run('Go.');
  return { runId, sessionId };
}
