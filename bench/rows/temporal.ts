// Row 18: what a step with a tool costs where Temporal schedules it, beside the durable driver of one process. Both write to a
// SQLite file on disk; with Temporal one process submits and follows (this one), another works.

import { cpuMicros } from '../server-link.ts';
import { createStepRuntime } from '../step-runtime.ts';
import { digits, type BenchOptions, type Benchmark, type Row } from '../row.ts';
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { median, percentile } from '../statistics.ts';
import { once } from 'node:events';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { startTemporal, type BenchTemporal } from '../temporal-server.ts';
import { temporal as temporalDriver } from '../../src/temporal.ts';
import { temporaryFolder } from '../server-pair.ts';
import type { Runtime } from '../../src/runtimes/runtime.ts';

export const temporal: Benchmark = async (options) => {
  await using server = await startTemporal();
  // Awaited: Temporal is there as long as it lasts.
  return server === null ? [skipped] : await measure(server, options);
};

const plain = { bare: '–', ratio: '–', target: '–', met: null };
const what = '18 A step with a tool on Temporal; bare: the durable driver of one process';
const skipped: Row = { ...plain, what, reins: '**skipped**: no Temporal server on this machine' };

/** µs of CPU, of all steps of a run. */
interface Cost {
  readonly here: number;
  readonly worker: number;
  readonly temporal: number;
  /** From one call of the tool to the next. */
  readonly stepsMs: readonly number[];
}

async function measure(server: BenchTemporal, { quick }: BenchOptions): Promise<readonly Row[]> {
  const { rounds, steps } = quick ? { rounds: 2, steps: 25 } : { rounds: 5, steps: 100 };
  using folder = temporaryFolder();
  const [own, shared] = [join(folder.path, 'own.sqlite'), join(folder.path, 'shared.sqlite')];
  const worker = fork(new URL('../step-worker.ts', import.meta.url), [shared, server.address]);
  await using local = createStepRuntime({ kind: 'sqlite', path: own });
  await using scheduled = createStepRuntime(
    temporalDriver({ store: openSqlite(shared), address: server.address, role: 'schedule' }),
  );
  const [bare, reins]: [Cost[], Cost[]] = [[], []];
  for (let round = -1; round < rounds; round++) {
    const [one, other] = [await play(local, steps), await play(scheduled, steps, { worker, server })];
    if (round < 0) continue; // Warm-up.
    bare.push(one);
    reins.push(other);
  }
  worker.kill();
  return rowsOf(bare, reins, steps);
}

async function play(
  runtime: Runtime,
  steps: number,
  others?: { readonly worker: ChildProcess; readonly server: BenchTemporal },
): Promise<Cost> {
  const read = async () => ({
    here: cpuMicros(),
    worker: others === undefined ? 0 : await cpuOf(others.worker),
    temporal: others?.server.cpuMicros() ?? 0,
  });
  const before = await read();
  const run = await runtime.submit(`Count to ${steps}.`);
  const { status } = await run.result();
  if (status !== 'completed') throw new Error(`The run is ${status}.`);
  const after = await read();
  const calledAt: number[] = [];
  for await (const { type, at } of run.stream({ follow: 'run' })) if (type === 'tool-dispatched') calledAt.push(at);
  return {
    here: after.here - before.here,
    worker: after.worker - before.worker,
    temporal: after.temporal - before.temporal,
    stepsMs: calledAt.slice(1).map((at, index) => at - (calledAt[index] ?? at)),
  };
}

async function cpuOf(worker: ChildProcess): Promise<number> {
  worker.send('read');
  const [micros]: number[] = await once(worker, 'message');
  return micros ?? Number.NaN;
}

function rowsOf(bare: readonly Cost[], reins: readonly Cost[], steps: number): readonly Row[] {
  const each = (costs: readonly Cost[], of: (cost: Cost) => number) => median(costs.map(of)) / steps / 1_000;
  const total = ({ here, worker, temporal: its }: Cost) => here + worker + its;
  const latency = (costs: readonly Cost[]) => costs.flatMap(({ stepsMs }) => stepsMs);
  const shown = (costs: readonly Cost[]) =>
    `p50 ${digits(median(latency(costs)), 0)} ms, p99 ${digits(percentile(latency(costs), 99), 0)} ms`;
  const parts = [each(reins, ({ here }) => here), each(reins, ({ worker }) => worker), each(reins, (c) => c.temporal)];
  return [
    {
      ...plain,
      what: `${what}: CPU of the submitter + of the worker + of Temporal`,
      bare: `${digits(each(bare, total))} ms`,
      reins: `${parts.map((part) => digits(part)).join(' + ')} ms`,
      ratio: digits(each(reins, total) / each(bare, total)),
    },
    {
      ...plain,
      what: '18 Its latency, from one call of the tool to the next',
      bare: shown(bare),
      reins: shown(reins),
      ratio: digits(median(latency(reins)) / median(latency(bare))),
    },
  ];
}
