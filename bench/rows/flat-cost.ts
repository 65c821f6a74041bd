import { openJsonClient } from '../json-client.ts';
import { digits, type Benchmark, type Row } from '../row.ts';
import { startServer, type ServerUnderTest } from '../server-link.ts';
import { temporaryFolder } from '../server-pair.ts';
import { median } from '../statistics.ts';
import { fillStore } from '../stored-responses.ts';
import { openStream } from '../stream-client.ts';
import { burst } from '../task-shape.ts';

/** Row 5: an event costs the same late in a long run as early, and with many stored responses as with none. */
export const flatCost: Benchmark = async ({ quick }) => [await longRun(quick), await fullStore(quick)];

async function longRun(quick: boolean): Promise<Row> {
  const events = quick ? 20_000 : 100_000;
  const span = events / 10;
  const runs: { readonly early: number; readonly late: number }[] = [];
  for (let round = 0; round < (quick ? 1 : 2); round++) {
    using folder = temporaryFolder();
    const marks = [100, 100 + span, events - span, events - 1];
    const server = await startServer('reins-server.ts', [folder.path, ...marks.map(String)]);
    // A first run of the same length, so that the compiler has settled before the second is measured.
    await streamOnce(server, events);
    const { marks: warm } = await server.read();
    await streamOnce(server, events);
    const cpu = (await server.read()).marks.slice(warm.length).map(({ cpuMicros }) => cpuMicros);
    const [a = 0, b = 0, c = 0, d = 0] = cpu;
    runs.push({ early: (b - a) / span, late: (d - c) / (span - 1) });
    await server.stop();
  }
  const ratio = median(runs.map(({ early, late }) => late / early));
  return {
    what: `5 An event at the start and at the end of a run of ${events.toLocaleString('en')}`,
    bare: `start ${digits(median(runs.map(({ early }) => early)))} µs`,
    reins: `end ${digits(median(runs.map(({ late }) => late)))} µs`,
    ratio: digits(ratio, 2),
    target: '≤ 1.2',
    met: ratio <= 1.2,
  };
}

async function fullStore(quick: boolean): Promise<Row> {
  const count = quick ? 5_000 : 100_000;
  using folder = temporaryFolder();
  const measure = async () => {
    const server = await startServer('reins-server.ts', [folder.path]);
    const cost = median(await tasks(server, quick ? 2 : 5));
    await server.stop();
    return cost;
  };
  const empty = await measure();
  await fillStore(folder.path, count);
  const full = await measure();
  return {
    what: `5 A task of 50 events, and reading it, with an empty store and with ${count.toLocaleString('en')} responses`,
    bare: `empty ${digits(empty)} ms`,
    reins: `full ${digits(full)} ms`,
    ratio: digits(full / empty, 2),
    target: '≤ 1.2',
    met: full / empty <= 1.2,
  };
}

/** CPU ms of a task from its request to the read of its response, by rounds; the first is warm-up. */
async function tasks(server: ServerUnderTest, rounds: number): Promise<readonly number[]> {
  const count = 200;
  const costs: number[] = [];
  using client = openJsonClient(server.port);
  for (let round = -1; round < rounds; round++) {
    const before = await server.read();
    for (let index = 0; index < count; index++) {
      const body = JSON.stringify({ input: JSON.stringify({ kind: 'answer', events: 50 }) });
      const { id } = JSON.parse(await client.send({ method: 'POST', path: '/v1/responses', body }));
      await client.send({ path: `/v1/responses/${id}` });
    }
    if (round >= 0) costs.push(((await server.read()).cpuMicros - before.cpuMicros) / 1_000 / count);
  }
  return costs;
}

async function streamOnce(server: ServerUnderTest, events: number): Promise<void> {
  server.openGate();
  await openStream({ port: server.port, path: '/v1/responses', shape: burst(events, 100) }).ended;
}
