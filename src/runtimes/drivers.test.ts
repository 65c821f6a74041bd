import { join } from 'node:path';
import { mkdtempSync, rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { tmpdir } from 'node:os';
import { createRuntime } from '../runtime.ts';
import { describeDriver } from '../testing/driver-contract.ts';

describeDriver('the durable driver in memory', async (agents) => createRuntime({ agents, driver: { kind: 'memory' } }));

describeDriver('the durable driver on SQLite', async (agents) => {
  const folder = mkdtempSync(join(tmpdir(), 'reins-driver-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return createRuntime({ agents, driver: { kind: 'sqlite', path: join(folder, 'runs.sqlite') } });
});
