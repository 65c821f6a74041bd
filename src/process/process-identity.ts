// Which process this is, so that another one can tell later whether it still lives.
//
// I1. A pid is a process only together with its start time, and only where it was given: in one boot and one pid namespace.
// I2. `dead` is said of what is known to be gone: nothing of that pid, a later process of it, one that waits for its parent.
// I3. What cannot be looked at is `unseen`: it may live. So is, where there is no `/proc`, whatever has the pid now.

import { hostname } from 'node:os';
import { readFileSync, readlinkSync } from 'node:fs';
import { readEntry } from './process-tree.ts';

export interface ProcessIdentity {
  /** Where the pid was given. */
  readonly place: string;
  readonly pid: number;
  /** In clock ticks since boot; null where the system does not tell. */
  readonly startTicks: number | null;
}

export function thisProcess(): ProcessIdentity {
  return { place: ownPlace(), pid: process.pid, startTicks: readEntry(process.pid)?.startTicks ?? null };
}

/** @param from  Where it is looked from; absent: here. */
export function lookAtProcess(
  { place, pid, startTicks }: ProcessIdentity,
  from: string = ownPlace(),
): 'alive' | 'dead' | 'unseen' {
  if (place !== from) return 'unseen';
  if (!isPidInUse(pid)) return 'dead';
  const entry = readEntry(pid);
  if (entry === null || startTicks === null) return 'unseen';
  return entry.startTicks === startTicks && !/[ZX]/.test(entry.state) ? 'alive' : 'dead';
}

function ownPlace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

function isPidInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    // Not ours to signal, but there.
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM';
  }
}
