import type { DatabaseUsage } from './postgres-cluster.ts';
import type { ServerUnderTest } from './server-link.ts';
import { openStream, type Stream } from './stream-client.ts';
import type { TaskShape } from './task-shape.ts';

export interface Load {
  /** The streams take turns between them. */
  readonly servers: readonly ServerUnderTest[];
  readonly path: string;
  readonly streams: number;
  readonly shape: (index: number) => TaskShape;
  /** `whole`: from the first event to the end of the last task. Else so long, from one second after the first event. */
  readonly measure: 'whole' | { readonly seconds: number };
  /** Every so many-th stream reports how old its events are when they arrive. Absent: none does. */
  readonly sampleEvery?: number;
  /** The database that the servers share. */
  readonly database?: { usage(): Promise<DatabaseUsage> };
  /** How many windows the servers have stored so far. */
  readonly windows?: () => Promise<number>;
}

export interface LoadResult {
  /** CPU of the event's server per frame that arrived. */
  readonly microsPerFrame: number;
  readonly framesPerSecond: number;
  readonly seconds: number;
  readonly frames: number;
  readonly agesMs: readonly number[];
  /** What the database did meanwhile; nothing where none was named. */
  readonly database: DatabaseUsage;
  readonly windows: number;
}

const rampMs = 1_000;
const none: DatabaseUsage = { cpuMicros: 0, transactions: 0, walBytes: 0 };

/** Opens all streams, then lets their events arise: admission is not part of the figure. */
export async function loadStreams(load: Load): Promise<LoadResult> {
  const { servers, measure, database, windows } = load;
  const ages: number[] = [];
  const streams = await openStreams(load, (ms) => void ages.push(ms));
  const ended = Promise.all(streams.map((stream) => stream.ended));
  const snapshot = async () => ({
    atMs: performance.now(),
    frames: streams.reduce((sum, { frames }) => sum + frames, 0),
    ages: ages.length,
    cpuMicros: await cpuOf(servers),
    database: (await database?.usage()) ?? none,
    windows: (await windows?.()) ?? 0,
  });
  const atGate = await snapshot();
  for (const server of servers) server.openGate();
  if (measure !== 'whole') await sleep(rampMs);
  const before = measure === 'whole' ? atGate : await snapshot();
  await (measure === 'whole' ? ended : sleep(measure.seconds * 1_000));
  const after = await snapshot();
  await ended;
  for (const server of servers) server.closeGate();
  const frames = after.frames - before.frames;
  const seconds = (after.atMs - before.atMs) / 1_000;
  return {
    microsPerFrame: (after.cpuMicros - before.cpuMicros) / frames,
    framesPerSecond: frames / seconds,
    seconds,
    frames,
    agesMs: ages.slice(before.ages, after.ages),
    database: {
      cpuMicros: after.database.cpuMicros - before.database.cpuMicros,
      transactions: after.database.transactions - before.database.transactions,
      walBytes: after.database.walBytes - before.database.walBytes,
    },
    windows: after.windows - before.windows,
  };
}

async function cpuOf(servers: readonly ServerUnderTest[]): Promise<number> {
  const readings = await Promise.all(servers.map((server) => server.read()));
  return readings.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0);
}

const openAtOnce = 50;

async function openStreams(load: Load, onAge: (ms: number) => void): Promise<readonly Stream[]> {
  const { servers, path, streams: count, shape, sampleEvery } = load;
  const streams: Stream[] = [];
  const crowds = new Map<ServerUnderTest, number>();
  for (let index = 0; index < count; index++) {
    const sampled = sampleEvery !== undefined && index % sampleEvery === 0;
    const server = servers[index % servers.length];
    if (server === undefined) throw new Error('A load needs a server.');
    crowds.set(server, (crowds.get(server) ?? 0) + 1);
    streams.push(openStream({ port: server.port, path, shape: shape(index), ...(sampled ? { onAge } : {}) }));
    if (streams.length % openAtOnce === 0) await Promise.all(streams.map(({ first }) => first));
  }
  await Promise.all(streams.map(({ first }) => first));
  await Promise.all([...crowds].map(([server, crowd]) => server.crowdAtGate(crowd)));
  return streams;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
