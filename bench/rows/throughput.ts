import { loadStreams } from '../load-streams.ts';
import { digits, type Benchmark } from '../row.ts';
import { startPair } from '../server-pair.ts';
import { median } from '../statistics.ts';
import { burst } from '../task-shape.ts';

const [streams, events] = [200, 500];
/** Events of one stream within one window of 5 ms: what bare writing and joined writing differ by a factor of three at. */
const perWindow = 4;
/** Until the compiler has settled: it takes Reins longer than the few lines of the yardstick. */
const warmUps = 2;

/** Row 1: events that are stored and streamed, per second of CPU. */
export const throughput: Benchmark = async ({ quick, profile }) => {
  await using pair = await startPair(profile);
  const shape = () => burst(events, perWindow);
  const runs = { bare: new Array<number>(), reins: new Array<number>() };
  for (let round = -warmUps; round < (quick ? 2 : 7); round++) {
    const bare = await loadStreams({ servers: [pair.bare], path: '/joined', streams, shape, measure: 'whole' });
    const reins = await loadStreams({ servers: [pair.reins], path: '/v1/responses', streams, shape, measure: 'whole' });
    if (round < 0) continue;
    runs.bare.push(bare.microsPerFrame);
    runs.reins.push(reins.microsPerFrame);
  }
  const ratio = median(runs.bare.map((bare, index) => bare / (runs.reins[index] ?? Number.NaN)));
  return [
    {
      what: `1 Events stored and streamed per CPU second: ${streams} streams of ${events}, ${perWindow} a window`,
      bare: `${digits(median(runs.bare))} µs an event`,
      reins: `${digits(median(runs.reins))} µs an event`,
      ratio: digits(ratio, 2),
      target: '≥ 0.6',
      met: ratio >= 0.6,
    },
  ];
};
