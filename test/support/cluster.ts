// Several servers as processes of their own, on one PostgreSQL and one folder, each with a wire of its own to the database, and
// one balancer in front of them all.

import { onTestFinished } from 'vitest';
import { createWriteStream, writeFileSync } from 'node:fs';
import { env } from 'node:process';
import { join } from 'node:path';
import { connectTo, key, type Uhp } from './uhp.ts';
import { eventually } from './asking-server.ts';
import { openStore, query } from './postgres.ts';
import { integer, nullable, text } from '../../src/stores/rows/columns.ts';
import { root, startProgram, startReins, temporaryFolder, type ReinsProcess } from '../reins-process.ts';
import { runIds, type RunId } from '../../src/core/ids.ts';
import { startBalancer, type Balancer, type BalancerOptions } from './cluster-balancer.ts';
import { startWire, type Wire } from './cluster-wire.ts';
import type { PostgresStore } from '../../src/stores/postgres/open-postgres.ts';
import type { RunEvent } from '../../src/core/run-event.ts';
import type { TestModel } from './model.ts';

export interface ClusterNode {
  readonly wire: Wire;
  /** Of the process that is there now. */
  readonly process: ReinsProcess;
  readonly uhp: Uhp;
  kill(): Promise<void>;
  /** Ends it in order. */
  terminate(): Promise<void>;
  start(): Promise<void>;
  /** The name under which its present process owns runs. */
  owner(): Promise<string>;
}

export interface ServerCluster {
  readonly data: string;
  readonly nodes: readonly ClusterNode[];
  readonly balancer: Balancer;
  /** Through the balancer. */
  readonly uhp: Uhp;
  /** Straight to the database, past all wires. */
  readonly store: PostgresStore;
  readonly databaseUrl: string;
  logOf(id: string): Promise<readonly RunEvent[]>;
  /** Runs that have not ended. */
  open(): Promise<readonly OpenRun[]>;
}

export interface OpenRun {
  readonly runId: RunId;
  readonly owner: string | null;
  readonly generation: number;
  readonly lastSeq: number;
}

export interface ServerClusterOptions extends Pick<BalancerOptions, 'answerWithinMs'> {
  readonly databaseUrl: string;
  readonly model: TestModel;
  readonly nodes?: number;
  /** Absent: `reins serve` as it is. */
  readonly leaseMs?: number;
  readonly settings?: object;
}

export async function startServerCluster(options: ServerClusterOptions): Promise<ServerCluster> {
  const { databaseUrl, model, nodes: count = 3, leaseMs, settings = {}, ...balancing } = options;
  const data = temporaryFolder();
  writeFileSync(join(data, 'config.json'), JSON.stringify({ ...model.settings, ...settings }));
  const store = await openStore(databaseUrl, { listenUrl: null });
  onTestFinished(() => store[Symbol.asyncDispose]());
  const begin = (wire: Wire) => {
    const own = { REINS_API_KEY: key, REINS_DATABASE_URL: wire.url, ...model.env };
    if (leaseMs === undefined) return startReins(['serve', '--data', data, '--port', '0'], { env: own });
    return startProgram(`${root}test/fixtures/leased-server.ts`, [data, String(leaseMs)], { env: own });
  };
  const nodes: ClusterNode[] = [];
  for (let n = 0; n < count; n++) nodes.push(await startNode({ databaseUrl, begin }));
  await Promise.all(nodes.map((node) => node.start()));
  const balancer = await startBalancer({ ...balancing, upstreams: () => nodes.map(({ uhp }) => uhp.url) });
  onTestFinished(() => balancer[Symbol.asyncDispose]());
  return {
    data,
    nodes,
    balancer,
    uhp: connectTo(balancer.url),
    store,
    databaseUrl,
    logOf: (id) => wholeLog(store, id),
    open: () => openRuns(databaseUrl),
  };
}

async function startNode(o: {
  readonly databaseUrl: string;
  readonly begin: (wire: Wire) => ReinsProcess;
}): Promise<ClusterNode> {
  const wire = await startWire(o.databaseUrl);
  onTestFinished(() => wire[Symbol.asyncDispose]());
  let current: { readonly process: ReinsProcess; readonly uhp: Uhp } | null = null;
  const get = () => {
    if (current === null) throw new Error('This node was never started.');
    return current;
  };
  const end = async (signal: NodeJS.Signals) => {
    get().process.child.kill(signal);
    await get().process.ended;
  };
  return {
    wire,
    get process() {
      return get().process;
    },
    get uhp() {
      return get().uhp;
    },
    kill: () => end('SIGKILL'),
    terminate: () => end('SIGTERM'),
    async start() {
      const process = o.begin(wire);
      // By hand: what the servers said, to be read beside what the test says.
      const logs = env['REINS_CLUSTER_LOGS'];
      if (logs !== undefined) process.child.stderr?.pipe(createWriteStream(logs, { flags: 'a' }));
      const said = await process.saw('reins listening on');
      current = { process, uhp: connectTo(/http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? '') };
    },
    owner: () =>
      eventually(async () => {
        const pid = get().process.child.pid ?? 0;
        const [row] = await query(o.databaseUrl, `SELECT owner FROM owners WHERE pid = ${pid} ORDER BY seen_at DESC`);
        return row === undefined ? undefined : text(row, 'owner');
      }),
  };
}

/** Those of a cluster that was started with two. */
export function twoNodes({ nodes: [owner, other] }: ServerCluster): readonly [ClusterNode, ClusterNode] {
  if (owner === undefined || other === undefined) throw new Error('There are less than two nodes.');
  return [owner, other];
}

async function wholeLog(store: PostgresStore, id: string): Promise<readonly RunEvent[]> {
  return store.readEvents(runIds.parse(id) ?? runIds.make(''), { after: 0, limit: 100_000 });
}

async function openRuns(url: string): Promise<readonly OpenRun[]> {
  const sql = `SELECT run_id, owner, generation::int AS generation, last_seq::int AS last_seq
    FROM runs JOIN heads USING (run_no) WHERE status = 'running'`;
  return (await query(url, sql)).map((row) => ({
    runId: runIds.parse(text(row, 'run_id')) ?? runIds.make(''),
    owner: nullable(row, 'owner', text),
    generation: integer(row, 'generation'),
    lastSeq: integer(row, 'last_seq'),
  }));
}
