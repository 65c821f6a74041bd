// Rows 8 to 10: what the engine itself costs beside a bare loop and beside other engines, all over the same scripted model,
// each in a process of its own that runs while the others wait. Every round asks each of them in turn.

import { digits, type Benchmark, type Row } from '../row.ts';
import { median, percentile } from '../statistics.ts';
import { openRun } from '../engine/open-run.ts';
import { startContender, type Cost, type MeasuredProcess } from '../engine/measured-process.ts';
import type { RunShape } from '../engine/contender.ts';

const bare = 'bare loop';
const durable = 'Reins, durable';
const others = ['pi-agent-core', '@openai/agents', 'ai'];
const deltas: RunShape = { kind: 'deltas', count: 20_000 };
const steps: RunShape = { kind: 'steps', count: 200 };
const manySteps: RunShape = { kind: 'steps', count: 1_000 };

export const engine: Benchmark = async ({ quick, profile }) => {
  using started = new DisposableStack();
  const processes = [bare, 'Reins', durable, ...others].map((name) => started.use(startContender(name)));
  const reins = processes.filter(({ name }) => name === 'Reins');
  const perDelta = await measure(processes, { shape: deltas, rounds: quick ? 3 : 6 });
  const perStep = await measure(processes, { shape: steps, rounds: quick ? 1 : 3 });
  const long = await measure(reins, { shape: manySteps, rounds: quick ? 1 : 2 });
  if (profile !== undefined) for (const shape of [deltas, manySteps]) await reins[0]?.run({ shape, times: 3, profile });
  return [...rowsOfDeltas(perDelta), ...rowsOfSteps(perStep), rowOfLongRun(long), ...(await rowsOfStorage(500))];
};

type Measured = (name: string) => readonly Cost[];

async function measure(
  processes: readonly MeasuredProcess[],
  { shape, rounds }: { readonly shape: RunShape; readonly rounds: number },
): Promise<Measured> {
  const costs = new Map<string, readonly Cost[]>();
  for (let round = 0; round <= rounds; round++)
    for (const { name, run } of processes) {
      const more = await run({ shape, times: 3 });
      if (round > 0) costs.set(name, [...(costs.get(name) ?? []), ...more]); // The first round warms up.
    }
  return (name) => costs.get(name) ?? [];
}

function rowsOfDeltas(measured: Measured): readonly Row[] {
  const microsOf = (name: string) => measured(name).map(({ cpuMicros }) => cpuMicros / deltas.count);
  const own = median(microsOf('Reins'));
  const beside = (name: string) => ({
    bare: spread(microsOf(name)),
    reins: spread(microsOf('Reins')),
    ratio: digits(own / median(microsOf(name)), 2),
  });
  const stored = median(microsOf(durable)) / own;
  return [
    {
      what: '8 CPU of a delta, 20,000 in a reply; bare: a loop over the model, µs',
      ...beside(bare),
      target: '≤ 2 µs',
      met: own <= 2,
    },
    ...others.map((name) => ({
      what: `8 beside \`${name}\``,
      ...beside(name),
      target: '< 1',
      met: own < median(microsOf(name)),
    })),
    {
      what: '8 in memory beside durable (SQLite)',
      bare: spread(microsOf('Reins')),
      reins: spread(microsOf(durable)),
      ratio: digits(stored, 2),
      target: '≤ 3',
      met: stored <= 3,
    },
  ];
}

function rowsOfSteps(measured: Measured): readonly Row[] {
  const own = endsOf(measured('Reins'));
  return [bare, ...others, durable].map((name) => {
    const theirs = endsOf(measured(name));
    const [one, other] = name === durable ? [own, theirs] : [theirs, own];
    return {
      what: `9 CPU of a tool step, first and last 50 of 200; ${name === durable ? 'in memory beside durable' : `\`${name}\``}, ms`,
      bare: `${digits(one.first, 2)}, ${digits(one.last, 2)}`,
      reins: `${digits(other.first, 2)}, ${digits(other.last, 2)}`,
      ratio: digits(other.last / one.last, 2),
      target: name === bare ? '≤ 0.15 ms' : '–',
      met: name === bare ? own.last <= 0.15 : null,
    };
  });
}

function rowOfLongRun(measured: Measured): Row {
  const { first, last } = endsOf(measured('Reins'));
  return {
    what: '9 Reins alone, first and last 50 of 1,000',
    bare: `first ${digits(first, 2)} ms`,
    reins: `last ${digits(last, 2)} ms`,
    ratio: digits(last / first, 2),
    target: '≤ 1.2',
    met: last <= 1.2 * first,
  };
}

/** Ms of CPU of a step at the beginning and at the end of a run. */
function endsOf(costs: readonly Cost[]): { readonly first: number; readonly last: number } {
  const window = 50;
  const between = (marks: readonly number[]) => ((marks.at(-1) ?? 0) - (marks[0] ?? 0)) / (marks.length - 1) / 1_000;
  const first = median(costs.map(({ marks }) => between(marks.slice(0, window + 1))));
  return { first, last: median(costs.map(({ marks }) => between(marks.slice(-window - 1)))) };
}

async function rowsOfStorage(count: number): Promise<readonly Row[]> {
  const { openMs, fileBytes } = await openRun(count);
  const kib = fileBytes / count / 1_024;
  const rest = { bare: '–', ratio: '–' };
  return [
    {
      what: `10 Opening a durable run of ${count} steps to go on with it`,
      ...rest,
      reins: `${digits(median(openMs), 0)} ms, worst ${digits(Math.max(...openMs), 0)} ms`,
      target: '< 100 ms',
      met: median(openMs) < 100,
    },
    {
      what: '10 Its file, for each step',
      ...rest,
      reins: `${digits(kib)} KiB`,
      target: '≤ 4 KiB',
      met: kib <= 4,
    },
  ];
}

/** Median, with the middle four fifths of what was measured. */
function spread(values: readonly number[]): string {
  return `${digits(median(values), 2)} (${digits(percentile(values, 10), 2)}–${digits(percentile(values, 90), 2)})`;
}
