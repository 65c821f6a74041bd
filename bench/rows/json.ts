import { openJsonClient } from '../json-client.ts';
import { digits, type Benchmark, type Row } from '../row.ts';
import type { ServerUnderTest } from '../server-link.ts';
import { startPair, type ServerPair } from '../server-pair.ts';
import { median } from '../statistics.ts';
import type { TaskShape } from '../task-shape.ts';

const connections = 16;

/** Row 4: plain JSON answers, against a bare server that sends the same body. */
export const json: Benchmark = async ({ quick }) => {
  await using pair = await startPair();
  const shape: TaskShape = { kind: 'answer', events: 20 };
  using client = openJsonClient(pair.reins.port);
  const body = JSON.stringify({ input: JSON.stringify(shape) });
  const { id } = JSON.parse(await client.send({ method: 'POST', path: '/v1/responses', body }));
  return [
    await compare(pair, `/v1/responses/${id}`, { what: '4 Reads of a stored response', quick }),
    await compare(pair, '/v1/uhp', { what: '4 Reads of the discovery document', quick }),
  ];
};

async function compare(
  pair: ServerPair,
  path: string,
  { what, quick }: { readonly what: string; readonly quick: boolean },
): Promise<Row> {
  using reins = openJsonClient(pair.reins.port);
  using bare = openJsonClient(pair.bare.port);
  await bare.send({ method: 'PUT', path: '/', body: await reins.send({ path }) });
  const runs: { readonly bare: number; readonly reins: number }[] = [];
  for (let round = -1; round < (quick ? 2 : 5); round++) {
    const count = quick ? 2_000 : 10_000;
    const run = { bare: await microsEach(pair.bare, '/', count), reins: await microsEach(pair.reins, path, count) };
    if (round >= 0) runs.push(run);
  }
  const ratio = median(runs.map((run) => run.bare / run.reins));
  const show = (server: 'bare' | 'reins') => `${digits(median(runs.map((run) => run[server])), 0)} µs a request`;
  return { what, bare: show('bare'), reins: show('reins'), ratio: digits(ratio, 2), target: '–', met: null };
}

async function microsEach(server: ServerUnderTest, path: string, count: number): Promise<number> {
  const before = await server.read();
  let left = count;
  const ask = async () => {
    using client = openJsonClient(server.port);
    while (left-- > 0) await client.send({ path });
  };
  await Promise.all(Array.from({ length: connections }, ask));
  return ((await server.read()).cpuMicros - before.cpuMicros) / count;
}
