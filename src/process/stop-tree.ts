import { sleep, type Clock } from '../core/clock.ts';
import { readFileSync } from 'node:fs';
import { listMembers, signalMember, type ProcessTree, type TreeMember, type TreeScan } from './process-tree.ts';

export interface StopOptions {
  readonly clock: Clock;
  /** From SIGTERM to SIGKILL; 0 = SIGKILL at once. */
  readonly graceMs: number;
  /** How long SIGKILL is repeated before what is left counts as not to be stopped. Default: 2 s. */
  readonly giveUpMs?: number;
  readonly scan?: TreeScan;
  readonly signalMember?: typeof signalMember;
}

export interface StoppedTree {
  /** Names of what was running when the stop began. */
  readonly found: readonly string[];
  /** What is still there, by name, pid and start time (E-817, H-064). */
  readonly unstopped: readonly string[];
}

/** Ends every process of a tree and looks that they are gone: SIGTERM, and SIGKILL to what is left. Nothing happens when there is none. */
export async function stopTree(tree: ProcessTree, options: StopOptions): Promise<StoppedTree> {
  const { clock, graceMs, giveUpMs = 2_000, signalMember: send = signalMember } = options;
  let left = await listMembers(tree, options.scan);
  const found = left.map(({ name }) => name);
  if (graceMs > 0 && left.length > 0) {
    const isSpared = ({ pid }: TreeMember) => tree.root?.role === 'supervisor' && pid === tree.root.pid;
    for (const member of left) if (!isSpared(member)) send(member, 'SIGTERM');
    left = await waitUntilGone(tree, graceMs, options);
  }
  // Again and again: a process may have started another one while the list was made.
  for (const untilMs = clock.now() + giveUpMs; left.length > 0 && clock.now() < untilMs;) {
    for (const member of left) send(member, 'SIGKILL');
    left = await waitUntilGone(tree, 50, options);
  }
  return { found, unstopped: left.map(describeMember) };
}

async function waitUntilGone(
  tree: ProcessTree,
  withinMs: number,
  { clock, scan }: StopOptions,
): Promise<readonly TreeMember[]> {
  const untilMs = clock.now() + withinMs;
  for (let pauseMs = 5; ; pauseMs = Math.min(2 * pauseMs, 50)) {
    const left = await listMembers(tree, scan);
    if (left.length === 0 || clock.now() >= untilMs) return left;
    await sleep(clock, Math.min(pauseMs, untilMs - clock.now()));
  }
}

function describeMember({ pid, name, startTicks }: TreeMember): string {
  if (startTicks === null) return `${name} ${Math.abs(pid)}`;
  const bootSeconds = Number(/^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1'))?.[1]);
  const started = new Date(bootSeconds * 1000 + startTicks * 10); // 100 ticks a second, on every Linux that Node runs on
  return `${name} (process ${pid}, started ${started.toISOString()})`;
}
