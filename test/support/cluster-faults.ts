// What happens to servers on one database. Each fault ends by itself; who was lost with it is said.

import { setTimeout as pause } from 'node:timers/promises';
import { query, type Cluster } from './postgres.ts';
import type { ClusterNode, OpenRun, ServerCluster } from './cluster.ts';
import type { SeededRandom } from './seeded-random.ts';

export interface FaultPlace {
  readonly cluster: ServerCluster;
  readonly database: Cluster;
  readonly random: SeededRandom;
}

/** What a fault leaves behind: `lost` does not work any more, `restore` brings it back. */
interface Struck {
  readonly lost: readonly string[];
  restore?(): Promise<void>;
}

type Strike = (place: FaultPlace) => Promise<Struck>;

const nothingLost: Struck = { lost: [] };

async function strikeNodes(
  { random }: FaultPlace,
  {
    nodes,
    how,
    meanwhile = async () => {},
  }: {
    readonly nodes: readonly ClusterNode[];
    readonly how: 'SIGKILL' | 'SIGSTOP';
    readonly meanwhile?: () => Promise<unknown>;
  },
): Promise<Struck> {
  const lost = await Promise.all(nodes.map((node) => node.owner()));
  const began = performance.now();
  const lasts = how === 'SIGKILL' ? random.below(1_500) : 10_000;
  const over = meanwhile();
  if (how === 'SIGKILL') await Promise.all(nodes.map((node) => node.kill()));
  else for (const { process } of nodes) process.child.kill('SIGSTOP');
  await over;
  return {
    lost,
    async restore() {
      await pause(Math.max(0, began + lasts - performance.now()));
      if (how === 'SIGKILL') await Promise.all(nodes.map((node) => node.start()));
      else for (const { process } of nodes) process.child.kill('SIGCONT');
    },
  };
}

/** Some nodes, at least one and never all. */
function someOf({ cluster: { nodes }, random }: FaultPlace): readonly ClusterNode[] {
  const from = random.below(nodes.length);
  const some = 1 + random.below(nodes.length - 1);
  return nodes.filter((_, index) => (index - from + nodes.length) % nodes.length < some);
}

const oneOf = ({ cluster: { nodes }, random }: FaultPlace) => random.pick(nodes);

async function restartDatabase({ database, random }: FaultPlace, how: 'SIGINT' | 'SIGQUIT'): Promise<Struck> {
  await database.kill(how);
  await pause(random.below(500));
  await database.start();
  return nothingLost;
}

async function disturbWire(node: ClusterNode, state: 'stalled' | number, forMs: number): Promise<Struck> {
  node.wire.set(state);
  await pause(forMs);
  node.wire.set('open');
  return nothingLost;
}

export const faults = {
  'kill -9 of a node': (place) => strikeNodes(place, { nodes: [oneOf(place)], how: 'SIGKILL' }),
  'kill -9 of some nodes': (place) => strikeNodes(place, { nodes: someOf(place), how: 'SIGKILL' }),
  'SIGSTOP of a node': (place) => strikeNodes(place, { nodes: [oneOf(place)], how: 'SIGSTOP' }),
  'fast restart of the database': (place) => restartDatabase(place, 'SIGINT'),
  'crash of the database': (place) => restartDatabase(place, 'SIGQUIT'),
  'crash of the database as nodes are killed': (place) =>
    strikeNodes(place, {
      nodes: someOf(place),
      how: 'SIGKILL',
      meanwhile: () => restartDatabase(place, 'SIGQUIT'),
    }),
  async 'connections of a node to the database cut'(place) {
    oneOf(place).wire.cut();
    return nothingLost;
  },
  async 'all connections to the database cut'({ cluster: { nodes } }) {
    for (const { wire } of nodes) wire.cut();
    return nothingLost;
  },
  async 'connections of readers cut'({ cluster: { balancer } }) {
    balancer.cut();
    return nothingLost;
  },
  'a node hears nothing of the database': (place) =>
    disturbWire(oneOf(place), 'stalled', 500 + place.random.below(2_000)),
  'slow network to the database': (place) => disturbWire(oneOf(place), 20, 1_500),
  async 'a node is cut off from the database for longer than its lease'(place) {
    const node = oneOf(place);
    const owner = await node.owner();
    node.wire.set('refused');
    return {
      lost: [owner],
      async restore() {
        await pause(6_000);
        node.wire.set('open');
      },
    };
  },
  async 'slow disk'({ cluster: { databaseUrl } }) {
    await query(databaseUrl, 'ALTER SYSTEM SET commit_delay = 100000');
    await query(databaseUrl, 'ALTER SYSTEM SET commit_siblings = 0');
    await query(databaseUrl, 'SELECT pg_reload_conf()');
    await pause(2_000);
    await query(databaseUrl, 'ALTER SYSTEM RESET ALL');
    await query(databaseUrl, 'SELECT pg_reload_conf()');
    return nothingLost;
  },
} as const satisfies Readonly<Record<string, Strike>>;

export type Fault = keyof typeof faults;

export interface Measured {
  readonly fault: Fault;
  /** From the loss, or from the end of the fault, until every run that was open had gone on. */
  readonly goneOnMs: number;
  /** Runs that were at work where something was lost. */
  readonly orphans: number;
}

const waitAtMostMs = 60_000;

/** Strikes, waits until every run that is hit has gone on or ended, and brings back what was lost. */
export async function strike(place: FaultPlace, fault: Fault): Promise<Measured> {
  await pause(place.random.below(600));
  const { lost, restore = async () => {} } = await faults[fault](place);
  const before = await place.cluster.open();
  const fromMs = performance.now();
  const restored = restore();
  const waiting = new Map(before.map((run) => [run.runId, run]));
  while (waiting.size > 0 && performance.now() - fromMs < waitAtMostMs) {
    const now = new Map((await place.cluster.open()).map((run) => [run.runId, run]));
    for (const [runId, then] of waiting) if (hasGoneOn(then, now.get(runId), lost)) waiting.delete(runId);
    if (waiting.size > 0) await pause(25);
  }
  const goneOnMs = performance.now() - fromMs;
  await restored;
  const orphans = before.filter(({ owner }) => owner !== null && lost.includes(owner)).length;
  return { fault, goneOnMs, orphans };
}

function hasGoneOn(then: OpenRun, now: OpenRun | undefined, lost: readonly string[]): boolean {
  if (now === undefined) return true;
  // What was on its way may still be stored after its writer is lost.
  const isOrphan = then.owner !== null && lost.includes(then.owner);
  return isOrphan ? now.generation > then.generation : now.lastSeq > then.lastSeq;
}
