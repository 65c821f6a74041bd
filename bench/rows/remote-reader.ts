import { openJsonClient } from '../json-client.ts';
import { startNodes } from '../nodes.ts';
import type { BenchDatabase, Cluster } from '../postgres-cluster.ts';
import { digits, type BenchOptions, type Row } from '../row.ts';
import type { ServerUnderTest } from '../server-link.ts';
import { median, percentile } from '../statistics.ts';
import { openStream } from '../stream-client.ts';
import { paced } from '../task-shape.ts';

const [tasks, perSecond] = [20, 50];

/**
 * Row 15: events of tasks at one server, as they arrive at a reader there and, at the same time, at one of another server that
 * hears of it, or of a third that does not. In turns with readers at the first alone, so that it is known what the others cost.
 */
export async function remoteReader(cluster: Cluster, { quick, profile }: BenchOptions): Promise<readonly Row[]> {
  await using database = await cluster.database();
  await using nodes = await startNodes(database, ['hearing', 'hearing', 'deaf'], profile);
  const [home, hearing, deaf] = nodes.servers;
  if (home === undefined || hearing === undefined || deaf === undefined) throw new Error('Three servers are needed.');
  const seconds = quick ? 3 : 6;
  const rounds: { readonly alone: Costs; readonly heard: Reading; readonly polled: Reading }[] = [];
  for (let round = -1; round < (quick ? 1 : 4); round++) {
    const alone = await read({ database, home, seconds });
    const heard = await read({ database, home, away: hearing, seconds });
    const polled = await read({ database, home, away: deaf, seconds });
    if (round >= 0) rounds.push({ alone, heard, polled });
  }
  return (['heard', 'polled'] as const).flatMap((how) =>
    rowsOf(
      how,
      rounds.map((round) => ({ alone: round.alone, reading: round[how] })),
    ),
  );
}

/** CPU, µs an event. */
interface Costs {
  readonly away: number;
  readonly database: number;
}

interface Reading extends Costs {
  readonly homeMs: readonly number[];
  readonly awayMs: readonly number[];
}

interface Scene {
  readonly database: BenchDatabase;
  readonly home: ServerUnderTest;
  readonly away?: ServerUnderTest;
  readonly seconds: number;
}

/** From the first event to the end of the last reader. */
async function read({ database, home, away, seconds }: Scene): Promise<Reading> {
  const events = perSecond * seconds;
  const ids = await Promise.all(Array.from({ length: tasks }, (_, index) => begin(home, events, index)));
  const [homeMs, awayMs] = [new Array<number>(), new Array<number>()];
  const follow = ({ port }: ServerUnderTest, ages: number[]) =>
    ids.map((id) => openStream({ port, path: `/v1/responses/${id}?stream=true`, onAge: (ms) => void ages.push(ms) }));
  const readers = [...follow(home, homeMs), ...(away === undefined ? [] : follow(away, awayMs))];
  await Promise.all(readers.map(({ first }) => first));
  await home.crowdAtGate(tasks);
  const spent = async () => ({
    away: (await away?.read())?.cpuMicros ?? 0,
    database: (await database.usage()).cpuMicros,
  });
  const before = await spent();
  home.openGate();
  await Promise.all(readers.map(({ ended }) => ended));
  const after = await spent();
  home.closeGate();
  const micros = (cost: keyof Costs) => (after[cost] - before[cost]) / (events * tasks);
  return { homeMs, awayMs, away: micros('away'), database: micros('database') };
}

async function begin({ port }: ServerUnderTest, events: number, phase: number): Promise<string> {
  using client = openJsonClient(port);
  const body = JSON.stringify({ input: JSON.stringify(paced(events, phase)), background: true });
  const { id } = JSON.parse(await client.send({ method: 'POST', path: '/v1/responses', body }));
  return id;
}

function rowsOf(
  how: 'heard' | 'polled',
  rounds: readonly { readonly alone: Costs; readonly reading: Reading }[],
): readonly Row[] {
  const name = how === 'heard' ? 'another server' : 'another server with `REINS_DATABASE_LISTEN_URL=off`';
  const late = (where: 'homeMs' | 'awayMs', percent: number) =>
    median(rounds.map(({ reading }) => percentile(reading[where], percent)));
  const ages = (where: 'homeMs' | 'awayMs') => `p50 ${digits(late(where, 50))} ms, p99 ${digits(late(where, 99))} ms`;
  const added = (percent: number) => digits(late('awayMs', percent) - late('homeMs', percent));
  const cost = (figure: (round: (typeof rounds)[number]) => number) => digits(median(rounds.map(figure)));
  const rest = { target: '–', met: null };
  return [
    {
      what: `15 Age of events at a reader of ${name}; bare: of the task's own`,
      bare: ages('homeMs'),
      reins: ages('awayMs'),
      ratio: `p50 +${added(50)} ms, p99 +${added(99)} ms`,
      ...rest,
    },
    {
      what: `15 CPU of those events, ${tasks} tasks at ${perSecond} a second; bare: PostgreSQL's without that reader`,
      bare: `${cost(({ alone }) => alone.database)} µs an event`,
      reins: `${cost(({ reading }) => reading.database)} µs an event, and ${cost(({ reading }) => reading.away)} µs of the reader's server`,
      ratio: cost(({ alone, reading }) => reading.database / alone.database),
      ...rest,
    },
  ];
}
