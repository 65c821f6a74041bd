// A Temporal development server of a test file's own: real, on loopback. Where none is installed the tests say that they are
// skipped; REINS_REQUIRE_TEMPORAL forbids that. `node scripts/install-temporal.js` gets one.

import { freePort } from './free-port.ts';
import { afterAll, describe } from 'vitest';
import { Connection } from '@temporalio/client';
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { spawn, type ChildProcess } from 'node:child_process';

const installed = 'node_modules/.cache/temporal/temporal';
const program = process.env['REINS_TEMPORAL_SERVER'] ?? (existsSync(installed) ? installed : null);
const isRequired = (process.env['REINS_REQUIRE_TEMPORAL'] ?? '') !== '';

export interface TemporalServer extends AsyncDisposable {
  readonly address: string;
  /** As a crash. What it knew is kept only by a server with a file. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** A suite with a Temporal server, which the whole of it shares. */
export function describeWithTemporal(name: string, suite: (server: () => Promise<TemporalServer>) => void): void {
  const isSkipped = program === null && !isRequired;
  describe.skipIf(isSkipped)(isSkipped ? `${name} (skipped: no Temporal server on this machine)` : name, () => {
    let started: Promise<TemporalServer> | null = null;
    afterAll(async () => (await started)?.[Symbol.asyncDispose]());
    suite(() => (started ??= startTemporal()));
  });
}

export interface TemporalOptions {
  /** Where it keeps what it knows; absent: in memory. */
  readonly file?: string;
  /** Events after which it suggests that a history begins anew; absent: its own idea. */
  readonly suggestAt?: number;
}

export async function startTemporal({ file, suggestAt }: TemporalOptions = {}): Promise<TemporalServer> {
  if (program === null) throw new Error('There is no Temporal server on this machine.');
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  let server: ChildProcess | null = null;
  const start = async () => {
    const args = ['server', 'start-dev', '--headless', '--port', String(port), '--log-level', 'error'];
    if (file !== undefined) args.push('--db-filename', file);
    if (suggestAt !== undefined)
      args.push('--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${suggestAt}`);
    const child = spawn(program, args, { stdio: 'ignore' });
    // A test that ran out of time disposes of nothing.
    process.once('exit', () => child.kill('SIGKILL'));
    server = child;
    await answers(address);
  };
  const kill = async () => {
    if (server === null || server.exitCode !== null) return;
    server.kill('SIGKILL');
    await once(server, 'exit');
  };
  await start();
  return { address, start, kill, [Symbol.asyncDispose]: kill };
}

async function answers(address: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++)
    try {
      const connection = await Connection.connect({ address, connectTimeout: 1_000 });
      await connection.workflowService.describeNamespace({ namespace: 'default' });
      return await connection.close();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  throw new Error('The Temporal server does not answer.');
}
