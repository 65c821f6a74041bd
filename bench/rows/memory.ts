import { digits, type Benchmark } from '../row.ts';
import { startServer } from '../server-link.ts';
import { temporaryFolder } from '../server-pair.ts';
import { openStream } from '../stream-client.ts';

const openAtOnce = 20;

/** Row 6: memory of the server with many runs open, each with a reader. */
export const memory: Benchmark = async ({ quick }) => {
  const [few, many] = quick ? [200, 1_000] : [1_000, 5_000];
  using folder = temporaryFolder();
  const server = await startServer('reins-server.ts', [folder.path]);
  const rssMiB = async () => (await server.read()).rssBytes / 1_048_576;
  const [idle, streams, sizes] = [await rssMiB(), [openHeld(server.port)], new Array<number>()];
  for (const count of [few, many]) {
    while (streams.length < count) {
      const batch = Array.from({ length: openAtOnce }, () => openHeld(server.port));
      await Promise.all(batch.map(({ first }) => first));
      streams.push(...batch);
    }
    sizes.push(await rssMiB());
  }
  for (const stream of streams) stream.close();
  await server.stop();
  const [small = 0, large = 0] = sizes;
  const perRun = ((large - small) / (many - few)) * 1_024;
  return [
    {
      what: `6 Memory with ${few.toLocaleString('en')} and ${many.toLocaleString('en')} runs open, each with a reader`,
      bare: `idle ${digits(idle, 0)} MiB`,
      reins: `${digits(small, 0)} MiB, ${digits(large, 0)} MiB`,
      ratio: `${digits(perRun, 0)} KiB a run`,
      target: quick ? '–' : '≤ 1,024 MiB',
      met: quick ? null : large <= 1_024,
    },
  ];
};

function openHeld(port: number) {
  return openStream({ port, path: '/v1/responses', shape: { kind: 'hold' } });
}
