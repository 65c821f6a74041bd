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
  describeDriver('Temporal', async (agents) => {
    const folder = mkdtempSync(join(tmpdir(), 'reins-temporal-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { address } = await server();
    const store = openSqlite(join(folder, 'runs.sqlite'));
    return createRuntime({ agents, driver: temporal({ store, address, taskQueue: randomUUID() }) });
  });
});
