// How much of the machine the programs of others may take, by the settings and, where these leave it open, by the machine.

import { availableParallelism, totalmem } from 'node:os';
import type { Config } from './config.ts';
import type { PoolBounds } from './harnesses/foreign/process-pool.ts';
import type { TreeLimits } from './process/watch-trees.ts';

export interface Machine {
  /** What its processes may use together. */
  readonly memoryBytes: number;
  readonly cores: number;
}

/** What a small runtime takes at work; idle, most take more than this and do nothing. */
const bytesEach = 256 * 1_048_576;
/** They wait for models most of their time. */
const perCore = 16;
const leastProcesses = 4;

export function thisMachine(): Machine {
  // 0: there is no limit.
  const limit = process.constrainedMemory();
  const memoryBytes = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return { memoryBytes, cores: availableParallelism() };
}

export function poolBounds(
  { maxProcesses, maxIdle, maxParked, maxWaiting, waitSeconds }: Config['harnesses'],
  { memoryBytes, cores }: Machine,
): PoolBounds {
  const fitting = Math.min(Math.floor(memoryBytes / 2 / bytesEach), perCore * cores);
  const max = maxProcesses ?? Math.max(leastProcesses, fitting);
  // Of all places one is never kept from those who wait for it.
  return {
    max,
    maxIdle,
    maxParked: Math.min(maxParked ?? Math.floor(max / 2), max - 1),
    maxWaiting,
    waitSeconds,
  };
}

export function treeLimits(
  { memoryBytes, processesEach, diskBytes, niceness }: Config['harnesses'],
  machine: Machine,
): TreeLimits {
  return {
    memoryBytes: memoryBytes ?? Math.floor(machine.memoryBytes / 2),
    processes: processesEach,
    diskBytes,
    niceness,
  };
}
