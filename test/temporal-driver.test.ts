import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { createRuntime } from '../src/runtime.ts';
import { describeDriver } from '../src/testing/driver-contract.ts';
import { describeWithTemporal } from './support/temporal.ts';
import { openSqlite } from '../src/stores/sqlite/open-sqlite.ts';
import { temporal } from '../src/temporal.ts';

describeWithTemporal('E-889', (server) => {
  describeDriver('Temporal, with two workers,', async (agents) => {
    const folder = mkdtempSync(join(tmpdir(), 'reins-temporal-'));
    const place = { address: (await server()).address, taskQueue: randomUUID() };
    const open = (role: 'work' | 'schedule') => {
      const store = openSqlite(join(folder, 'runs.sqlite'));
      return createRuntime({ agents, driver: temporal({ ...place, store, role }) });
    };
    const workers = [open('work'), open('work')];
    onTestFinished(async () => {
      await Promise.all(workers.map((each) => each.close({ drainMs: 0 })));
      rmSync(folder, { recursive: true, force: true });
    });
    return open('schedule');
  });
});
