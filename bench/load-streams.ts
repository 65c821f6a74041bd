import type { ServerUnderTest } from './server-link.ts';
import { openStream } from './stream-client.ts';
import type { TaskShape } from './task-shape.ts';

export interface Load {
  readonly server: ServerUnderTest;
  readonly path: string;
  readonly streams: number;
  readonly shape: (index: number) => TaskShape;
  /** Every so many-th stream reports how old its events are when they arrive. Absent: none does. */
  readonly sampleEvery?: number;
}

export interface LoadResult {
  /** Server CPU per frame that arrived, from the opening of the gate to the end of the last stream. */
  readonly microsPerFrame: number;
  readonly framesPerSecond: number;
  readonly agesMs: readonly number[];
}

const openAtOnce = 50;

/** Opens all streams, then lets their events arise: admission is not part of the figure, ending the tasks is. */
export async function loadStreams({ server, path, streams: count, shape, sampleEvery }: Load): Promise<LoadResult> {
  const { port } = server;
  const agesMs: number[] = [];
  const streams = Array.from({ length: 0 }, () => openStream({ port, path, shape: shape(0) }));
  for (let index = 0; index < count; index++) {
    const sampled = sampleEvery !== undefined && index % sampleEvery === 0;
    const onAge = (ms: number) => void agesMs.push(ms);
    streams.push(openStream({ port, path, shape: shape(index), ...(sampled ? { onAge } : {}) }));
    if (index % openAtOnce === openAtOnce - 1) await Promise.all(streams.slice(-openAtOnce).map(({ first }) => first));
  }
  await Promise.all(streams.map(({ first }) => first));
  await new Promise((resolve) => setTimeout(resolve, 200));
  const framesOf = () => streams.reduce((sum, { frames }) => sum + frames, 0);
  const [framesBefore, before, startedAt] = [framesOf(), await server.read(), performance.now()];
  server.openGate();
  await Promise.all(streams.map(({ ended }) => ended));
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await server.read();
  server.closeGate();
  const frames = framesOf() - framesBefore;
  return { microsPerFrame: (after.cpuMicros - before.cpuMicros) / frames, framesPerSecond: frames / seconds, agesMs };
}
