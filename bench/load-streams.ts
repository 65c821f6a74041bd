import type { ServerUnderTest } from './server-link.ts';
import { openStream, type Stream } from './stream-client.ts';
import type { TaskShape } from './task-shape.ts';

export interface Load {
  readonly server: ServerUnderTest;
  readonly path: string;
  readonly streams: number;
  readonly shape: (index: number) => TaskShape;
  /** `whole`: from the first event to the end of the last task. Else so long, from one second after the first event. */
  readonly measure: 'whole' | { readonly seconds: number };
  /** Every so many-th stream reports how old its events are when they arrive. Absent: none does. */
  readonly sampleEvery?: number;
}

export interface LoadResult {
  /** Server CPU per frame that arrived. */
  readonly microsPerFrame: number;
  readonly framesPerSecond: number;
  readonly agesMs: readonly number[];
}

const rampMs = 1_000;

/** Opens all streams, then lets their events arise: admission is not part of the figure. */
export async function loadStreams(load: Load): Promise<LoadResult> {
  const { server, measure } = load;
  const ages: number[] = [];
  const streams = await openStreams(load, (ms) => void ages.push(ms));
  const ended = Promise.all(streams.map((stream) => stream.ended));
  const snapshot = async () => ({
    atMs: performance.now(),
    frames: streams.reduce((sum, { frames }) => sum + frames, 0),
    ages: ages.length,
    cpuMicros: (await server.read()).cpuMicros,
  });
  const atGate = await snapshot();
  server.openGate();
  if (measure !== 'whole') await sleep(rampMs);
  const before = measure === 'whole' ? atGate : await snapshot();
  await (measure === 'whole' ? ended : sleep(measure.seconds * 1_000));
  const after = await snapshot();
  await ended;
  server.closeGate();
  const frames = after.frames - before.frames;
  return {
    microsPerFrame: (after.cpuMicros - before.cpuMicros) / frames,
    framesPerSecond: (frames / (after.atMs - before.atMs)) * 1_000,
    agesMs: ages.slice(before.ages, after.ages),
  };
}

const openAtOnce = 50;

async function openStreams(load: Load, onAge: (ms: number) => void): Promise<readonly Stream[]> {
  const { server, path, streams: count, shape, sampleEvery } = load;
  const streams: Stream[] = [];
  for (let index = 0; index < count; index++) {
    const sampled = sampleEvery !== undefined && index % sampleEvery === 0;
    streams.push(openStream({ port: server.port, path, shape: shape(index), ...(sampled ? { onAge } : {}) }));
    if (streams.length % openAtOnce === 0) await Promise.all(streams.map(({ first }) => first));
  }
  await Promise.all(streams.map(({ first }) => first));
  // Reins shows that it took a task in before the harness has come to the gate.
  await sleep(200);
  return streams;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
