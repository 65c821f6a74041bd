// What makes a process give way to the server, where the system lets its user say so. What it starts afterwards inherits it.

import { constants, setPriority } from 'node:os';
import { findProgram } from './find-program.ts';
import { readdirSync, writeFileSync } from 'node:fs';
import { readProc, type TreeMember } from './process-tree.ts';
import { runProcess } from './run-process.ts';
import type { Clock } from '../core/clock.ts';

export interface Yielding {
  /** 0 to 19: how much of the processor it leaves to others who want it. */
  readonly niceness: number;
  /** No file of it grows beyond; the core of none is kept. */
  readonly fileBytes: number;
}

/** Of 1000: well before the server, and after what has asked to go first. */
const oomScore = 500;
const adjustMs = 5_000;

/** Does what can be done; a process that is gone, or another user's, stays as it is. */
export async function yieldToServer({ pid }: TreeMember, o: Yielding & { readonly clock: Clock }): Promise<void> {
  // When memory is short the kernel takes it, and not the server.
  if (Number(readProc(pid, 'oom_score_adj') ?? oomScore) < oomScore)
    quietly(() => writeFileSync(`/proc/${pid}/oom_score_adj`, String(oomScore)));
  if (o.niceness > 0) {
    const threads = quietly(() => readdirSync(`/proc/${pid}/task`)) ?? [];
    const niceness = Math.min(o.niceness, constants.priority.PRIORITY_LOW);
    // On Linux each thread has its own.
    for (const thread of threads) quietly(() => setPriority(Number(thread), niceness));
  }
  await limitFiles(pid, o);
}

/** Node cannot do it; without `prlimit` nobody does. */
async function limitFiles(pid: number, { fileBytes, clock }: { readonly fileBytes: number; readonly clock: Clock }) {
  const now = /^Max file size +(\S+)/m.exec(readProc(pid, 'limits') ?? '')?.[1];
  if (now === undefined || Number(now) <= fileBytes) return;
  const program = findProgram('prlimit', '/usr/bin:/bin');
  if (program === null) return;
  await runProcess({
    clock,
    program,
    args: ['--pid', String(pid), `--fsize=${fileBytes}:${fileBytes}`, '--core=0:0'],
    cwd: '/',
    env: {},
    marker: `prlimit-${pid}`,
    signal: new AbortController().signal,
    timeoutMs: adjustMs,
    graceMs: 0,
    onOutput: () => undefined,
  }).catch(() => undefined);
}

function quietly<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
