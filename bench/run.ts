// `npm run bench`: every figure of the table from one run on one machine. `--quick` for CI; `--only NAME` for one row;
// `--profile DIR` leaves CPU profiles of Reins in a folder.

import { parseArgs } from 'node:util';
import { chat } from './rows/chat.ts';
import { engine } from './rows/engine.ts';
import type { Benchmark, Row } from './row.ts';
import { firstEvent } from './rows/first-event.ts';
import { flatCost } from './rows/flat-cost.ts';
import { json } from './rows/json.ts';
import { markdown } from './page/markdown.ts';
import { wholePage } from './page/whole-page.ts';
import { memory } from './rows/memory.ts';
import { pacedStreams } from './rows/paced.ts';
import { parts } from './rows/parts.ts';
import { postgres } from './rows/postgres.ts';
import { ready } from './rows/ready.ts';
import { relayed } from './rows/relay.ts';
import { temporal } from './rows/temporal.ts';
import { throughput } from './rows/throughput.ts';
import { printTable } from './table.ts';

const benchmarks: Readonly<Record<string, Benchmark>> = {
  throughput,
  paced: pacedStreams,
  first: firstEvent,
  json,
  flat: flatCost,
  memory,
  ready,
  engine,
  relay: relayed,
  markdown,
  page: wholePage,
  chat,
  parts,
  postgres,
  temporal,
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
printTable(rows, startedAt);
