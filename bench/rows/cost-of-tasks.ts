import { loadStreams, type LoadResult } from '../load-streams.ts';
import { startNodes } from '../nodes.ts';
import { openJsonClient } from '../json-client.ts';
import type { BenchDatabase, Cluster, LogSize } from '../postgres-cluster.ts';
import { digits, type BenchOptions, type Row } from '../row.ts';
import type { ServerUnderTest } from '../server-link.ts';
import { openStream } from '../stream-client.ts';
import { paced, type TaskShape } from '../task-shape.ts';

const perSecond = 50;
const crowds = [10, 50, 150];

/** Row 17: what a running task costs, in the terms of a model: so much each window, so much each event, so much each task. */
export async function costOfTasks(cluster: Cluster, { quick }: BenchOptions): Promise<readonly Row[]> {
  await using database = await cluster.database();
  await using nodes = await startNodes(database, ['hearing']);
  const [node] = nodes.servers;
  if (node === undefined) throw new Error('A server is needed.');
  const place = { database, node };
  const seconds = quick ? 3 : 10;
  await stream(place, 50, 2); // Warm-up.
  const points: Point[] = [];
  for (const streams of crowds) points.push(await stream(place, streams, seconds));
  const connections = await database.connections();
  await shortTasks(place, 200); // Warm-up.
  const short = await shortTasks(place, quick ? 400 : 1_000);
  const memory = await memoryOfTasks(node, quick ? [100, 400] : [1_000, 5_000]);
  const said = (what: string, reins: string): Row => ({ ...plain, what: `17 ${what}`, reins });
  return [
    ...points.map((point) => said(`A server with ${point.streams} streams at ${perSecond} events a second`, of(point))),
    said(
      'CPU, fitted to these: of the server',
      formula(points, (load) => load.microsPerFrame * load.frames),
    ),
    said(
      'CPU, fitted to these: of PostgreSQL',
      formula(points, (load) => load.database.cpuMicros),
    ),
    said(`A task of ${shortShape.events} events, from its request to its answer`, short),
    said('Connections of a server', String(connections)),
    said('Memory of a running task with a reader, in its server', memory),
  ];
}

const plain = { bare: '–', ratio: '–', target: '–', met: null };

interface Place {
  readonly database: BenchDatabase;
  readonly node: ServerUnderTest;
}

interface Point {
  readonly streams: number;
  readonly load: LoadResult;
  /** Whole runs, with their beginnings and ends. */
  readonly log: LogSize;
}

async function stream({ database, node }: Place, streams: number, seconds: number): Promise<Point> {
  const shape = (index: number) => paced(perSecond * (seconds + 2), index % 20);
  using client = openJsonClient(node.port);
  const windows = async () => {
    const count = /^reins_log_commit_seconds_count (\d+)/m.exec(await client.send({ path: '/metrics' }))?.[1];
    return Number(count);
  };
  const before = await database.logSize();
  const load = await loadStreams({
    servers: [node],
    path: '/v1/responses',
    streams,
    shape,
    measure: { seconds },
    database,
    windows,
  });
  const after = await database.logSize();
  return {
    streams,
    load,
    log: {
      rows: after.rows - before.rows,
      events: after.events - before.events,
      textBytes: after.textBytes - before.textBytes,
      tableBytes: after.tableBytes - before.tableBytes,
    },
  };
}

function of({ load, log }: Point): string {
  const { cpuMicros, transactions, walBytes } = load.database;
  const each = (value: number, places = 0) => digits(value / load.frames, places);
  return [
    `${digits(load.windows / load.seconds, 0)} windows and ${digits(transactions / load.seconds, 0)} transactions a second`,
    `an event: ${digits(log.rows / log.events, 2)} rows, ${digits(log.textBytes / log.events, 0)} bytes of text,` +
      ` ${digits(log.tableBytes / log.events, 0)} of table and index, ${each(walBytes)} of WAL`,
    `${digits(load.microsPerFrame)} + ${each(cpuMicros, 1)} µs`,
  ].join('; ');
}

/** Least squares of relative errors: `perWindow` × windows + `perEvent` × events = CPU. */
function formula(points: readonly Point[], cpuMicros: (load: LoadResult) => number): string {
  let [ww, we, ee, w, e] = [0, 0, 0, 0, 0];
  for (const { load } of points) {
    const cpu = cpuMicros(load);
    const [windows, events] = [load.windows / cpu, load.frames / cpu];
    ww += windows ** 2;
    we += windows * events;
    ee += events ** 2;
    w += windows;
    e += events;
  }
  const determinant = ww * ee - we ** 2;
  const perWindow = (w * ee - e * we) / determinant;
  const perEvent = (e * ww - w * we) / determinant;
  return `${digits(perWindow, 0)} µs a window + ${digits(perEvent)} µs an event`;
}

const shortShape = { kind: 'answer', events: 10 } as const satisfies TaskShape;
const atOnce = 4;

async function shortTasks({ database, node }: Place, count: number): Promise<string> {
  const snapshot = async () => ({ node: (await node.read()).cpuMicros, ...(await database.usage()) });
  const before = await snapshot();
  const body = JSON.stringify({ input: JSON.stringify(shortShape) });
  const client = async () => {
    using connection = openJsonClient(node.port);
    for (let index = 0; index < count / atOnce; index++)
      await connection.send({ method: 'POST', path: '/v1/responses', body });
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  const after = await snapshot();
  const each = (figure: keyof typeof after) => (after[figure] - before[figure]) / count;
  return [
    `${digits(each('node') / 1_000)} ms of the server, ${digits(each('cpuMicros') / 1_000)} ms of PostgreSQL`,
    `${digits(each('transactions'))} transactions, ${digits(each('walBytes') / 1_024)} KiB of WAL`,
  ].join('; ');
}

async function memoryOfTasks(node: ServerUnderTest, [few, many]: readonly [number, number]): Promise<string> {
  const rssKib = async () => (await node.read()).rssBytes / 1_024;
  const streams = new Array<ReturnType<typeof openStream>>();
  const sizes: number[] = [];
  for (const count of [few, many]) {
    while (streams.length < count) {
      const batch = Array.from({ length: 20 }, () =>
        openStream({ port: node.port, path: '/v1/responses', shape: { kind: 'hold' } }),
      );
      await Promise.all(batch.map(({ first }) => first));
      streams.push(...batch);
    }
    sizes.push(await rssKib());
  }
  for (const each of streams) each.close();
  const [small = 0, large = 0] = sizes;
  return `${digits((large - small) / (many - few), 0)} KiB, from ${few.toLocaleString('en')} tasks to ${many.toLocaleString('en')}`;
}
