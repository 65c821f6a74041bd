import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { runIds, sessionIds } from '../src/core/ids.ts';
import type { UnnumberedEvent } from '../src/stores/store.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { createLogBuilder, testTask } from '../src/testing/log-builder.ts';

const databaseName = 'reins.db';

/** Fills the database of a data folder with finished tasks, through the store's own door. Its server must not run. */
export async function fillStore(dataDir: string, count: number): Promise<void> {
  // Made in memory where the machine has such a folder: so many admissions are as many syncs of the disk.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'reins-bench-'));
  try {
    const path = join(folder, databaseName);
    cpSync(join(dataDir, databaseName), path);
    await fill(path, count);
    cpSync(path, join(dataDir, databaseName));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function fill(path: string, count: number): Promise<void> {
  const log = createLogBuilder();
  log.start();
  log.step({ blocks: [{ kind: 'text', pieces: Array.from({ length: 20 }, () => ' streaming') }] });
  log.end({ status: 'completed', stopReason: 'end-turn' });
  await using store = openSqlite(path);
  for (let index = 0; index < count; index++) {
    const token = randomBytes(16).toString('hex');
    const [runId, sessionId] = [runIds.make(token), sessionIds.make(token)];
    const events = log.events.map((event): UnnumberedEvent => ({ ...event, runId, sessionId }));
    const atMs = testTask.createdAt * 1_000 + index;
    await store.admit({
      runId,
      sessionId,
      harnessId: testTask.harnessId,
      principal: 'owner',
      newSession: { title: 'Do it.' },
      previousRunId: null,
      store: true,
      owner: token,
      events: events.slice(0, 1),
      atMs,
    });
    const end = { status: 'completed', response: { id: runId, object: 'response', output: [] }, atMs } as const;
    await store.append([{ runId, generation: 1, after: 1, events: events.slice(1), end }], { durable: false });
  }
}
