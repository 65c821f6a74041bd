import { loadStreams, type LoadResult } from '../load-streams.ts';
import { startNodes } from '../nodes.ts';
import type { Cluster } from '../postgres-cluster.ts';
import { digits, type BenchOptions, type Row } from '../row.ts';
import { median, percentile } from '../statistics.ts';
import { burst, paced } from '../task-shape.ts';

/** Row 16: one, two and three servers on one database: at their limit, and each with the same load that none of them is full of. */
export async function severalNodes(cluster: Cluster, { quick }: BenchOptions): Promise<readonly Row[]> {
  const span = quick ? { rounds: 1, seconds: 2, streams: 120 } : { rounds: 3, seconds: 6, streams: 240 };
  const measured: Measured[] = [];
  for (const nodes of [1, 2, 3]) measured.push(await measure(cluster, { nodes, ...span }));
  const [alone] = measured;
  return measured.flatMap((each) => rowsOf(each, alone ?? each));
}

const [streamsEach, perSecond] = [60, 50];

interface Span {
  readonly nodes: number;
  readonly rounds: number;
  readonly seconds: number;
  /** Of all servers together, at their limit. */
  readonly streams: number;
}

interface Measured extends Pick<Span, 'nodes' | 'streams'> {
  readonly full: readonly LoadResult[];
  readonly steady: readonly LoadResult[];
}

async function measure(cluster: Cluster, { nodes, rounds, seconds, streams }: Span): Promise<Measured> {
  await using database = await cluster.database();
  await using group = await startNodes(
    database,
    Array.from({ length: nodes }, () => 'hearing' as const),
  );
  const load = { servers: group.servers, path: '/v1/responses', database };
  const shape = (index: number) => paced(perSecond * (seconds + 2), Math.floor(index / nodes) % 20);
  const [full, steady] = [new Array<LoadResult>(), new Array<LoadResult>()];
  for (let round = -1; round < rounds; round++) {
    const limit = { streams, shape: () => burst(500, 4), measure: 'whole' } as const;
    const each = { streams: streamsEach * nodes, shape, measure: { seconds }, sampleEvery: 10 };
    const atLimit = await loadStreams({ ...load, ...limit });
    const atEase = await loadStreams({ ...load, ...each });
    if (round < 0) continue; // Warm-up.
    full.push(atLimit);
    steady.push(atEase);
  }
  return { nodes, streams, full, steady };
}

function rowsOf({ nodes, streams, full, steady }: Measured, alone: Measured): readonly Row[] {
  const name = nodes === 1 ? 'One server' : `${nodes} servers`;
  const reached = (runs: readonly LoadResult[]) => median(runs.map((run) => run.framesPerSecond));
  const ages = steady.map(({ agesMs }) => percentile(agesMs, 99));
  const writes = steady.map(({ database, seconds }) => database.transactions / seconds);
  const rest = { target: '–', met: null };
  return [
    {
      what: `16 ${name}, at the limit of this machine: ${streams} streams of 500`,
      bare: `${thousands(reached(alone.full))} events a second`,
      reins: `${thousands(reached(full))} events a second; ${costs(full)}`,
      ratio: digits(reached(full) / reached(alone.full), 2),
      ...rest,
    },
    {
      what: `16 ${name}, ${streamsEach} streams each at ${perSecond} events a second (reached)`,
      bare: costs(alone.steady),
      reins: `${costs(steady)} (${digits(reached(steady) / (streamsEach * nodes), 0)}); ${digits(median(writes), 0)} transactions a second; age p99 ${digits(median(ages))} ms`,
      ratio: digits(total(steady) / total(alone.steady), 2),
      ...rest,
    },
  ];
}

const nodeMicros = (runs: readonly LoadResult[]) => median(runs.map((run) => run.microsPerFrame));
const databaseMicros = (runs: readonly LoadResult[]) => median(runs.map((run) => run.database.cpuMicros / run.frames));
const total = (runs: readonly LoadResult[]) => nodeMicros(runs) + databaseMicros(runs);
const costs = (runs: readonly LoadResult[]) =>
  `${digits(nodeMicros(runs))} + ${digits(databaseMicros(runs))} µs an event`;
const thousands = (value: number) => Math.round(value).toLocaleString('en');
