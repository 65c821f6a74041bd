// What trees of processes use, looked at every few seconds; one that uses too much is ended.
//
// W1. One look at the system's processes serves all trees, and there is none while no tree is watched.
// W2. Who is over is ended whole and at once, its owner told why before: what would be let end in order goes on growing. One
//     that could not be ended is tried again at the next look.
// W3. Each process of a tree is made to yield to the server once, as soon as it is seen.
// W4. Without `/proc` only folders are looked at.
// W5. Neither the end of one tree nor the walk through its folders, which may be long, keeps a look from the others.

import { folderBytes } from './folder-bytes.ts';
import { isOverMemory } from './tree-memory.ts';
import { listTrees, type TreeMember } from './process-tree.ts';
import { stopTree } from './stop-tree.ts';
import { yieldToServer, type Yielding } from './yield-to-server.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';

export interface TreeLimits extends Pick<Yielding, 'niceness'> {
  readonly memoryBytes: number;
  /** At one time. */
  readonly processes: number;
  /** Of its folders together, and of each single file. */
  readonly diskBytes: number;
}

export interface WatchedTree {
  /** Of the very start; see `ProcessTree`. */
  readonly marker: string;
  /** Absolute paths of what only it writes to. */
  readonly folders: readonly string[];
  /** Why it is being ended, as "used more than 512 MiB of memory". At most once. Must not throw. */
  readonly onExcess: (what: string) => void;
}

export interface TreeWatch extends Disposable {
  /** Until it is disposed of. */
  add(tree: WatchedTree): Disposable;
}

const firstMs = 250;
const everyMs = 2_000;
/** Looks between two at the folders of a tree. */
const folderEvery = 15;

interface Watched extends WatchedTree {
  looks: number;
  /** `left`: its owner was told, and it is still there. */
  stage: 'watched' | 'ending' | 'left';
  isBeingWeighed: boolean;
}

export function watchTrees(
  limits: TreeLimits,
  {
    clock,
    logger,
    stop = stopTree,
  }: { readonly clock: Clock; readonly logger: Logger; readonly stop?: typeof stopTree },
): TreeWatch {
  const trees = new Map<string, Watched>();
  const letYield = yieldOnce({ ...limits, fileBytes: limits.diskBytes, clock });
  let planned: { readonly dueMs: number; cancel(): void } | null = null;
  let isLooking = false;

  function plan(ms: number): void {
    const dueMs = clock.now() + ms;
    if (isLooking || trees.size === 0 || (planned !== null && planned.dueMs <= dueMs)) return;
    planned?.cancel();
    planned = { dueMs, cancel: clock.timer(ms, () => void look()) };
  }

  function idle(): void {
    planned?.cancel();
    planned = null;
  }

  /** Does not reject. */
  async function look(): Promise<void> {
    planned = null;
    isLooking = true;
    try {
      const found = await listTrees(new Set(trees.keys()));
      await letYield([...found.values()].flat());
      for (const tree of trees.values()) {
        const what = excessOf(found.get(tree.marker) ?? [], limits);
        if (what !== null) void end(tree, what);
        else if (tree.looks++ % folderEvery === 0) void weigh(tree);
      }
    } catch (cause) {
      logger.error('What agents use could not be looked at.', {}, cause);
    }
    isLooking = false;
    plan([...trees.values()].some(({ looks }) => looks === 0) ? firstMs : everyMs);
  }

  /** Does not reject. */
  async function weigh(tree: Watched): Promise<void> {
    if (tree.isBeingWeighed) return;
    tree.isBeingWeighed = true;
    const { diskBytes } = limits;
    let bytes = 0;
    for (const folder of tree.folders)
      bytes += await folderBytes(folder, (found) => bytes + found <= diskBytes && trees.get(tree.marker) === tree);
    tree.isBeingWeighed = false;
    if (bytes > diskBytes) await end(tree, `kept more than ${toMiB(diskBytes)} MiB in its private folders`);
  }

  /** Does not reject. */
  async function end(tree: Watched, what: string): Promise<void> {
    const { marker, stage } = tree;
    if (stage === 'ending' || trees.get(marker) !== tree) return;
    tree.stage = 'ending';
    if (stage === 'watched') tree.onExcess(what);
    try {
      const { unstopped } = await stop({ marker, root: null }, { clock, graceMs: 0 });
      if (unstopped.length === 0) return void trees.delete(marker);
      logger.error('Processes of an agent that went over a limit could not be stopped.', { unstopped });
    } catch (cause) {
      logger.error('An agent that went over a limit could not be stopped.', {}, cause);
    }
    tree.stage = 'left';
  }

  return {
    add(tree) {
      trees.set(tree.marker, { ...tree, looks: 0, stage: 'watched', isBeingWeighed: false });
      plan(firstMs);
      return {
        [Symbol.dispose]() {
          trees.delete(tree.marker);
          if (trees.size === 0) idle();
        },
      };
    },
    [Symbol.dispose]() {
      trees.clear();
      idle();
    },
  };
}

/** W3, for all that are there. */
function yieldOnce(how: Parameters<typeof yieldToServer>[1]): (members: readonly TreeMember[]) => Promise<void> {
  /** By pid and start. */
  let yielding = new Set<string>();
  return async (members) => {
    const seen = new Set<string>();
    for (const member of members) {
      const key = `${member.pid} ${member.startTicks}`;
      seen.add(key);
      if (!yielding.has(key)) await yieldToServer(member, how);
    }
    yielding = seen;
  };
}

function excessOf(members: readonly TreeMember[], { memoryBytes, processes }: TreeLimits): string | null {
  if (members.length > processes) return `had more than ${processes} processes`;
  return isOverMemory(members, memoryBytes) ? `used more than ${toMiB(memoryBytes)} MiB of memory` : null;
}

function toMiB(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}
