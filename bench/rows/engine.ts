// Rows 8 and 9: what the engine itself costs beside a bare loop and beside other engines, all over the same scripted model,
// each in a process of its own that runs while the others wait. Every round asks each of them in turn.

import { digits, type Benchmark, type Row } from '../row.ts';
import { median } from '../statistics.ts';
import { openRun } from '../engine/open-run.ts';
import { startContender, type Cost, type MeasuredProcess } from '../engine/measured-process.ts';
import type { RunShape } from '../engine/contender.ts';

const others = ['pi-agent-core', '@openai/agents', 'ai'];
const names = ['bare loop', 'Reins', 'Reins, durable', ...others];
/** Steps at each end of a run that are compared. */
const window = 50;

export const engine: Benchmark = async ({ quick, profile }) => {
  using stack = new DisposableStack();
  const processes = names.map((name) => stack.use(startContender(name)));
  const reins = processes.filter(({ name }) => name === 'Reins');
  const rounds = quick ? 3 : 9;
  const deltas = await measure(processes, { kind: 'deltas', count: 20_000 }, { rounds, profile });
  const steps = await measure(processes, { kind: 'steps', count: 200 }, { rounds: quick ? 1 : 5, profile });
  const long = await measure(reins, { kind: 'steps', count: 1_000 }, { rounds: 1, profile });
  return [...rowsOfDeltas(deltas), ...rowsOfSteps(steps), rowOfLongRun(long), await rowOfOpening()];
};

type Measured = ReadonlyMap<string, readonly Cost[]>;

async function measure(
  processes: readonly MeasuredProcess[],
  shape: RunShape,
  { rounds, profile }: { readonly rounds: number; readonly profile: string | undefined },
): Promise<Measured> {
  const costs = new Map<string, Cost[]>();
  for (let round = 0; round <= rounds; round++)
    for (const contender of processes) {
      const isProfiled = round === rounds && contender.name === 'Reins';
      const more = await contender.run({ shape, times: 3, ...(isProfiled ? { profile } : {}) });
      // The first round warms up, the last one may have been profiled: a profile costs more than the run.
      if (round > 0) costs.set(contender.name, [...(costs.get(contender.name) ?? []), ...more]);
    }
  return costs;
}

function rowsOfDeltas(measured: Measured): readonly Row[] {
  const perDelta = (name: string) => costsOf(measured, name).map(({ cpuMicros }) => cpuMicros / 20_000);
  const say = (name: string) => `${spread(perDelta(name))} µs`;
  const [bare, reins, durable] = [perDelta('bare loop'), perDelta('Reins'), perDelta('Reins, durable')].map(median);
  return [
    {
      what: '8 CPU of a delta, 20,000 in a reply: a bare loop over the model',
      bare: say('bare loop'),
      reins: say('Reins'),
      ratio: digits((reins ?? 0) / (bare ?? 0)),
      target: '≤ 2 µs',
      met: (reins ?? 0) <= 2,
    },
    ...others.map((name) => {
      const theirs = median(perDelta(name));
      return {
        what: `8 The same: ${name}`,
        bare: say(name),
        reins: say('Reins'),
        ratio: digits((reins ?? 0) / theirs, 2),
        target: '< 1',
        met: (reins ?? 0) < theirs,
      };
    }),
    {
      what: '8 The same: Reins in memory, and durable',
      bare: say('Reins'),
      reins: say('Reins, durable'),
      ratio: digits((durable ?? 0) / (reins ?? 0)),
      target: '≤ 3',
      met: (durable ?? 0) <= 3 * (reins ?? 0),
    },
  ];
}
