// `npm run bench`: every figure of the table from one run on one machine. `--quick` for CI; `--only NAME` for one row;
// `--profile DIR` leaves CPU profiles of Reins in a folder.

import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import type { Benchmark, Row } from './row.ts';
import { firstEvent } from './rows/first-event.ts';
import { flatCost } from './rows/flat-cost.ts';
import { json } from './rows/json.ts';
import { memory } from './rows/memory.ts';
import { pacedStreams } from './rows/paced.ts';
import { ready } from './rows/ready.ts';
import { throughput } from './rows/throughput.ts';

const benchmarks: Readonly<Record<string, Benchmark>> = {
  throughput,
  paced: pacedStreams,
  first: firstEvent,
  json,
  flat: flatCost,
  memory,
  ready,
};

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, only: { type: 'string' }, profile: { type: 'string' } },
});
const names = values.only === undefined ? Object.keys(benchmarks) : [values.only];
const startedAt = performance.now();
const rows: Row[] = [];
for (const name of names) {
  const benchmark = benchmarks[name];
  if (benchmark === undefined) throw new Error(`No row '${name}'; there are: ${Object.keys(benchmarks).join(', ')}.`);
  process.stderr.write(`${name} …\n`);
  rows.push(...(await benchmark({ quick: values.quick, profile: values.profile })));
}
const seconds = Math.round((performance.now() - startedAt) / 1_000);
console.log(
  `${cpus()[0]?.model ?? 'unknown CPU'}, ${availableParallelism()} cores, Node ${process.version}, ${seconds} s\n`,
);
console.log('| | bare | Reins | ratio | target | |\n|---|---|---|---|---|---|');
for (const { what, bare, reins, ratio, target, met } of rows)
  console.log(
    `| ${what} | ${bare} | ${reins} | ${ratio} | ${target} | ${met === null ? '' : met ? 'met' : '**missed**'} |`,
  );
