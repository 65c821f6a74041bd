// A Temporal of the benchmark's own: the development server, in memory, on loopback. It counts what it costs.

import { Connection } from '@temporalio/client';
import { cpuOfTree } from './postgres-cluster.ts';
import { freePort } from '../test/support/free-port.ts';
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { spawn } from 'node:child_process';

export interface BenchTemporal extends AsyncDisposable {
  readonly address: string;
  /** User and system time so far. */
  cpuMicros(): number;
}

const installed = 'node_modules/.cache/temporal/temporal';

/** Null: there is none on this machine, or what it costs cannot be read here. */
export async function startTemporal(): Promise<BenchTemporal | null> {
  const program = process.env['REINS_TEMPORAL_SERVER'] ?? (existsSync(installed) ? installed : null);
  if (program === null || process.platform !== 'linux') return null;
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const args = ['server', 'start-dev', '--headless', '--port', String(port), '--log-level', 'error'];
  const server = spawn(program, args, { stdio: 'ignore' });
  const over = once(server, 'exit');
  while (!(await answers(address))) if (server.exitCode !== null) throw new Error('Temporal did not start.');
  return {
    address,
    cpuMicros: () => cpuOfTree(server.pid ?? 0),
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL'); // Nobody wants it in order any more.
      await over;
    },
  };
}

async function answers(address: string): Promise<boolean> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: 500 });
    await connection.workflowService.describeNamespace({ namespace: 'default' });
    await connection.close();
    return true;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return false;
  }
}
