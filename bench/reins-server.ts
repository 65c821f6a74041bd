// Reins under test: the whole server as it ships, on a real SQLite file, with the bench harness as its preferred one.
// Arguments: the data folder, then the events of a task at which the CPU is read.

import { createServer } from '../src/compose.ts';
import { loadConfig } from '../src/config.ts';
import { createArrivals } from './arrivals.ts';
import { createBenchHarness } from './bench-harness.ts';
import { benchKey } from './bench-key.ts';
import { cpuMicros, obey, type Reading } from './server-link.ts';

const [data, ...markAt] = process.argv.slice(2);
const marked = new Set(markAt.map(Number));
const marks: Reading['marks'][number][] = [];
const arrivals = createArrivals();
const onEvent = (event: number) => {
  if (marked.has(event)) marks.push({ event, cpuMicros: cpuMicros() });
};

const config = loadConfig({
  flags: { data, port: '0' },
  env: { REINS_API_KEY: benchKey },
  readFile: () => JSON.stringify({ harnesses: { preferred: 'bench' } }),
});
const server = await createServer(config, { adapters: [createBenchHarness({ arrivals, onEvent })] });
const { url } = await server.listen();
obey({ port: Number(new URL(url).port), arrivals, marks, close: () => server.close() });
