import { loadStreams, type LoadResult } from '../load-streams.ts';
import { digits, type Benchmark } from '../row.ts';
import { startPair } from '../server-pair.ts';
import { median, percentile } from '../statistics.ts';
import { paced } from '../task-shape.ts';

const eventsPerSecond = 50;

/** Row 2: what many streams of 50 events a second cost, and how much later their events arrive. */
export const pacedStreams: Benchmark = async ({ quick, profile }) => {
  await using pair = await startPair(profile);
  const streams = quick ? 300 : 1_000;
  const seconds = quick ? 2 : 6;
  // One second before and one after what is measured.
  const events = eventsPerSecond * (seconds + 2);
  const shape = (index: number) => paced(events, index % 20);
  const load = { streams, shape, sampleEvery: 20, measure: { seconds } };
  const runs: { readonly bare: LoadResult; readonly reins: LoadResult }[] = [];
  for (let round = quick ? 0 : -1; round < (quick ? 1 : 3); round++) {
    const bare = await loadStreams({ ...load, servers: [pair.bare], path: '/each' });
    const reins = await loadStreams({ ...load, servers: [pair.reins], path: '/v1/responses' });
    if (round >= 0) runs.push({ bare, reins });
  }
  const ratio = median(runs.map(({ bare, reins }) => reins.microsPerFrame / bare.microsPerFrame));
  const late = (server: 'bare' | 'reins', percent: number) =>
    median(runs.map((run) => percentile(run[server].agesMs, percent)));
  const added = late('reins', 99) - late('bare', 99);
  const cpu = (server: 'bare' | 'reins') => median(runs.map((run) => run[server].microsPerFrame));
  const reached = (server: 'bare' | 'reins') =>
    digits(median(runs.map((run) => run[server].framesPerSecond)) / streams, 0);
  const ages = (server: 'bare' | 'reins') => `p50 ${digits(late(server, 50))} ms, p99 ${digits(late(server, 99))} ms`;
  return [
    {
      what: `2 CPU of ${streams} streams at ${eventsPerSecond} events a second (reached)`,
      bare: `${digits(cpu('bare'))} µs an event (${reached('bare')})`,
      reins: `${digits(cpu('reins'))} µs an event (${reached('reins')})`,
      ratio: digits(ratio, 2),
      target: '≤ 1.5',
      met: ratio <= 1.5,
    },
    {
      what: '2 Age of those events when they arrive',
      bare: ages('bare'),
      reins: ages('reins'),
      ratio: `p99 +${digits(added)} ms`,
      target: '< 15 ms',
      met: added < 15,
    },
  ];
};
