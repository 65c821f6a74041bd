// Which processes belong to one start (H-061, H-062).
//
// P1. The tree is not the process group: a child may open a session of its own. Members are the group and the session of
//     the root, every process that carries the marker in its environment, and the descendants of all these.
// P2. A pid is a process only together with its start time: the kernel gives pids out again.
// P3. Only what started since the root can be its work; the environment of older processes is not looked at.
// P4. Where there is no `/proc`, a tree is its process group: the best that can be done.
//
// A process that has cleared its environment, opened a session and outlived its parent is not found. In a sandbox it
// dies with the pid namespace.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { treeVariable } from './child-environment.ts';

export interface ProcessTree {
  /** What its processes carry in `REINS_TREE`, or many such. A marker `a` also stands for all markers `a.…`. */
  readonly marker: string | ReadonlySet<string>;
  /** Null: found by the marker alone, after a crash. */
  readonly root: ProcessRoot | null;
}

export interface ProcessRoot {
  readonly pid: number;
  /** Start time in clock ticks since boot; null where the system does not tell. */
  readonly startTicks: number | null;
  /** `supervisor`: it only watches over the work and ends with it, so it is not asked to end. */
  readonly role: 'work' | 'supervisor';
}

export interface TreeMember {
  /** Negative: the process group of that number (P4). */
  readonly pid: number;
  readonly startTicks: number | null;
  /** As the process calls itself, ASCII. */
  readonly name: string;
}

/** Where members are looked for. */
export type TreeScan = 'proc' | 'group';
export const systemScan: TreeScan = existsSync('/proc/self/stat') ? 'proc' : 'group';

interface Entry extends TreeMember {
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startTicks: number;
}

/** The living members. What is dead and only waits for its parent is not one. */
export async function listMembers(tree: ProcessTree, scan: TreeScan = systemScan): Promise<readonly TreeMember[]> {
  if (scan === 'group') return listGroup(tree.root);
  const entries = await readEntries(tree.root?.startTicks ?? 0);
  const isInGroup = groupTest(tree.root, entries);
  const members = new Set(entries.filter((entry) => isInGroup(entry) || carriesMarker(entry.pid, tree.marker)));
  const pids = new Set([...members].map(({ pid }) => pid));
  for (let before = -1; before < pids.size;) {
    before = pids.size;
    for (const entry of entries) {
      if (!pids.has(entry.parent) || pids.has(entry.pid)) continue;
      members.add(entry);
      pids.add(entry.pid);
    }
  }
  return [...members];
}

/** The members of many trees in one look, by marker: each that carries one, and the descendants of these. None without `/proc`. */
export async function listTrees(
  markers: ReadonlySet<string>,
  scan: TreeScan = systemScan,
): Promise<ReadonlyMap<string, readonly TreeMember[]>> {
  if (scan === 'group') return new Map();
  const entries = await readEntries(readEntry(process.pid)?.startTicks ?? 0);
  const treeOf = new Map<number, string>();
  for (const [index, { pid }] of entries.entries()) {
    if (index % 64 === 63) await setImmediate();
    const marker = markersOf(pid).find((each) => markers.has(each));
    if (marker !== undefined) treeOf.set(pid, marker);
  }
  for (let before = -1; before < treeOf.size;) {
    before = treeOf.size;
    for (const { pid, parent } of entries) {
      const marker = treeOf.get(parent);
      if (marker !== undefined && !treeOf.has(pid)) treeOf.set(pid, marker);
    }
  }
  return Map.groupBy(
    entries.filter(({ pid }) => treeOf.has(pid)),
    ({ pid }) => treeOf.get(pid) ?? '',
  );
}

/** Sends a signal, unless the process is gone or another one has its pid now (P2). Not being permitted shows in the next list. */
export function signalMember({ pid, startTicks }: TreeMember, signal: NodeJS.Signals): void {
  if (startTicks !== null && readEntry(pid)?.startTicks !== startTicks) return;
  try {
    process.kill(pid, signal);
  } catch {
    // Gone in between, or not ours to stop.
  }
}

/** Names one start. To be called in the tick of the spawn: until then even a child that has ended is not forgotten. */
export function rootOf(pid: number, role: ProcessRoot['role']): ProcessRoot {
  return { pid, startTicks: readEntry(pid)?.startTicks ?? null, role };
}

function listGroup(root: ProcessRoot | null): readonly TreeMember[] {
  if (root === null) return [];
  try {
    process.kill(-root.pid, 0);
    return [{ pid: -root.pid, startTicks: null, name: 'process group' }];
  } catch {
    return [];
  }
}

/** A group is trusted as long as nobody else leads it: a pid is not given out again while a group bears it. */
function groupTest(root: ProcessRoot | null, entries: readonly Entry[]): (entry: Entry) => boolean {
  if (root === null || entries.some(({ pid, startTicks }) => pid === root.pid && startTicks !== root.startTicks))
    return () => false;
  return ({ group, session }) => group === root.pid || session === root.pid;
}

async function readEntries(sinceTicks: number): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  let read = 0;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    // Read in one go, it would stop the event loop for as long as there are processes.
    if (++read % 64 === 0) await setImmediate();
    if (!(pid > 1) || pid === process.pid) continue;
    const entry = readEntry(pid);
    if (entry !== null && entry.startTicks >= sinceTicks && !/[ZX]/.test(entry.state)) entries.push(entry);
  }
  return entries;
}

export function readEntry(pid: number): Entry | null {
  const text = readProc(pid, 'stat');
  if (text === null) return null;
  // The name stands in brackets and may hold brackets and spaces itself.
  const [open, close] = [text.indexOf('('), text.lastIndexOf(')')];
  const [state = '', ...numbers] = text.slice(close + 2).split(' ');
  const [parent = 0, group = 0, session = 0] = numbers.map(Number);
  const name = text.slice(open + 1, close).replaceAll(/[^\x20-\x7e]/g, '?');
  return { pid, name, state, parent, group, session, startTicks: Number(numbers[18]) };
}

function markersOf(pid: number): readonly string[] {
  const found = readProc(pid, 'environ')
    ?.split('\0')
    .find((entry) => entry.startsWith(`${treeVariable}=`));
  return found?.slice(treeVariable.length + 1).split(',') ?? [];
}

function carriesMarker(pid: number, marker: ProcessTree['marker']): boolean {
  const isMeant = (each: string) => (typeof marker === 'string' ? each === marker : marker.has(each));
  return markersOf(pid).some((each) =>
    each.split('.').some((_, at, parts) => isMeant(parts.slice(0, at + 1).join('.'))),
  );
}

/** A file of a process; null: it is gone, or another user's. */
export function readProc(
  pid: number,
  file: 'stat' | 'environ' | 'status' | 'smaps_rollup' | 'limits' | 'oom_score_adj',
): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch (error) {
    // Out of descriptors, nothing can be seen; that must not pass for nothing being there.
    if (error instanceof Error && 'code' in error && /^E[MN]FILE$/.test(String(error.code))) throw error;
    return null; // gone, or another user's
  }
}
