import { loadStreams, type LoadResult } from '../load-streams.ts';
import { startNodes } from '../nodes.ts';
import type { BenchDatabase, Cluster } from '../postgres-cluster.ts';
import { digits, type BenchOptions, type Row } from '../row.ts';
import { startServer, type ServerUnderTest } from '../server-link.ts';
import { temporaryFolder } from '../server-pair.ts';
import { median } from '../statistics.ts';
import { burst, paced } from '../task-shape.ts';

interface Case {
  readonly what: string;
  readonly load: Omit<Parameters<typeof loadStreams>[0], 'servers' | 'path' | 'database'>;
  readonly rounds: number;
}

/** Row 14: what an event costs its server on PostgreSQL and on SQLite, in turns, and what it costs PostgreSQL. */
export async function besideSqlite(cluster: Cluster, { quick, profile }: BenchOptions): Promise<readonly Row[]> {
  using folder = temporaryFolder();
  const sqlite = await startServer('reins-server.ts', [folder.path]);
  await using database = await cluster.database();
  await using nodes = await startNodes(database, ['hearing'], profile);
  const rows: Row[] = [];
  for (const one of casesOf(quick)) rows.push(await compare(one, { sqlite, nodes: nodes.servers, database }));
  await sqlite.stop();
  return rows;
}

function casesOf(quick: boolean): readonly Case[] {
  const [seconds, streams] = quick ? [2, 100] : [8, 200];
  const shape = (index: number) => paced(50 * (seconds + 2), index % 20);
  return [
    {
      what: `${streams} streams of 500, 4 a window`,
      load: { streams, shape: () => burst(500, 4), measure: 'whole' },
      rounds: quick ? 2 : 5,
    },
    {
      what: `${streams} streams at 50 events a second`,
      load: { streams, shape, measure: { seconds } },
      rounds: quick ? 1 : 3,
    },
  ];
}

interface Contenders {
  readonly sqlite: ServerUnderTest;
  readonly nodes: readonly ServerUnderTest[];
  readonly database: BenchDatabase;
}

async function compare({ what, load, rounds }: Case, { sqlite, nodes, database }: Contenders): Promise<Row> {
  const runs: { readonly sqlite: LoadResult; readonly postgres: LoadResult }[] = [];
  for (let round = -1; round < rounds; round++) {
    const bare = await loadStreams({ ...load, path: '/v1/responses', servers: [sqlite] });
    const postgres = await loadStreams({ ...load, path: '/v1/responses', servers: nodes, database });
    if (round < 0) continue; // Warm-up.
    runs.push({ sqlite: bare, postgres });
  }
  const of = (figure: (run: (typeof runs)[number]) => number) => median(runs.map(figure));
  const beside = of(({ postgres }) => postgres.database.cpuMicros / postgres.frames);
  const cost = (store: 'sqlite' | 'postgres') => digits(of((run) => run[store].microsPerFrame));
  const reached = (store: 'sqlite' | 'postgres') =>
    `${Math.round(of((run) => run[store].framesPerSecond)).toLocaleString('en')} a second`;
  return {
    what: `14 Events per CPU second of the server on PostgreSQL, ${what}; bare: on SQLite`,
    bare: `${cost('sqlite')} µs an event (${reached('sqlite')})`,
    reins: `${cost('postgres')} µs an event, and ${digits(beside)} µs of PostgreSQL (${reached('postgres')})`,
    ratio: digits(
      of((run) => run.sqlite.microsPerFrame / run.postgres.microsPerFrame),
      2,
    ),
    target: '–',
    met: null,
  };
}
