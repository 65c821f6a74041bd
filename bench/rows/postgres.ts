// Rows 14 to 17: several machines on one PostgreSQL, which is started here and shared by all of them.

import { startCluster, type Cluster } from '../postgres-cluster.ts';
import type { BenchOptions, Benchmark, Row } from '../row.ts';
import { besideSqlite } from './beside-sqlite.ts';
import { costOfTasks } from './cost-of-tasks.ts';
import { remoteReader } from './remote-reader.ts';
import { severalNodes } from './several-nodes.ts';

const parts: readonly ((cluster: Cluster, options: BenchOptions) => Promise<readonly Row[]>)[] = [
  besideSqlite,
  remoteReader,
  severalNodes,
  costOfTasks,
];

export const postgres: Benchmark = async (options) => {
  await using cluster = await startCluster();
  if (cluster === null) return [skipped];
  const rows: Row[] = [];
  for (const measure of parts) rows.push(...(await measure(cluster, options)));
  return rows;
};

const skipped: Row = {
  what: '14 to 17 Several machines',
  bare: '–',
  reins: '**skipped**: no PostgreSQL on this machine',
  ratio: '–',
  target: '–',
  met: null,
};
