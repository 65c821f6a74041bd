import { digits, type Benchmark } from '../row.ts';
import type { ServerUnderTest } from '../server-link.ts';
import { startPair } from '../server-pair.ts';
import { percentile } from '../statistics.ts';
import { openStream } from '../stream-client.ts';

/** Row 3: from the request to its first event, each on a new connection, several at a time. */
export const firstEvent: Benchmark = async ({ quick }) => {
  await using pair = await startPair();
  const count = quick ? 200 : 1_000;
  const measured = { bare: new Array<number>(), reins: new Array<number>() };
  for (let part = -1; part < 4; part++) {
    const bare = await firstEvents(pair.bare, '/joined', count / 4);
    const reins = await firstEvents(pair.reins, '/v1/responses', count / 4);
    if (part < 0) continue; // Warm-up.
    measured.bare.push(...bare);
    measured.reins.push(...reins);
  }
  const show = (values: readonly number[]) =>
    `p50 ${digits(percentile(values, 50))} ms, p99 ${digits(percentile(values, 99))} ms`;
  const ratio = percentile(measured.reins, 99) / percentile(measured.bare, 99);
  return [
    {
      what: `3 First event of a task, ${atOnce} at a time`,
      bare: show(measured.bare),
      reins: show(measured.reins),
      ratio: `p99 ${digits(ratio)}`,
      target: '≤ 3',
      met: ratio <= 3,
    },
  ];
};

const atOnce = 4;

async function firstEvents({ port }: ServerUnderTest, path: string, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  const client = async () => {
    while (times.length < count) {
      const stream = openStream({ port, path, shape: { kind: 'answer', events: 10 } });
      times.push(await stream.first);
      await stream.ended;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  return times;
}
