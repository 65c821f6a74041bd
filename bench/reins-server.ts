// Reins under test: the whole server as it ships, with the bench harness as its preferred one, on a real SQLite file or, with
// `--database`, on that PostgreSQL (`--deaf`: without hearing of other servers). Arguments: the data folder, then the events of
// a task at which the CPU is read.

import { parseArgs } from 'node:util';
import { createServer } from '../src/compose.ts';
import { loadConfig } from '../src/config.ts';
import { createArrivals } from './arrivals.ts';
import { createBenchHarness } from './bench-harness.ts';
import { benchKey } from './bench-key.ts';
import { cpuMicros, obey, type Reading } from './server-link.ts';

const { values, positionals } = parseArgs({
  options: { database: { type: 'string' }, deaf: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [data, ...markAt] = positionals;
const marked = new Set(markAt.map(Number));
const marks: Reading['marks'][number][] = [];
const arrivals = createArrivals();
const onEvent = (event: number) => {
  if (marked.has(event)) marks.push({ event, cpuMicros: cpuMicros() });
};

const config = loadConfig({
  flags: { data, port: '0' },
  env: {
    REINS_API_KEY: benchKey,
    REINS_DATABASE_URL: values.database,
    REINS_DATABASE_LISTEN_URL: values.deaf ? 'off' : undefined,
  },
  readFile: () => JSON.stringify({ harnesses: { preferred: 'bench' } }),
});
const server = await createServer(config, { adapters: [createBenchHarness({ arrivals, onEvent })] });
const { url } = await server.listen();
obey({ port: Number(new URL(url).port), arrivals, marks, close: () => server.close() });
