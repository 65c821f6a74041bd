// Three servers on one PostgreSQL, broken in every way that is known here, while clients follow tasks that use tools through a
// balancer. Whatever happens: nobody saw an event that the log lacks; numbers have no gap and no repeat for any reader over all
// of its connections; what a reader put together is the stored response; no manual tool ran twice (E-542); every run goes on
// within 5 s after its server was lost or its database is back (E-831, E-826); every log keeps its laws.
//
// `REINS_CHAOS_FAULTS` sets the number of faults, `REINS_CHAOS_SEED` repeats them, `REINS_CHAOS_ONLY` picks some by a part of
// their names.

import { expect, test } from 'vitest';
import { availableParallelism, loadavg } from 'node:os';
import { describeWithPostgres } from './support/postgres.ts';
import { faults, strike, type Fault, type Measured } from './support/cluster-faults.ts';
import { proveTask, scriptOf, startClients, type Followed, type ProvenTask } from './support/cluster-work.ts';
import { seededRandom } from './support/seeded-random.ts';
import { startModel } from './support/model.ts';
import { startServerCluster } from './support/cluster.ts';
import { systemClock } from '../src/system.ts';
import { temporaryFolder } from './reins-process.ts';

const count = Number(process.env['REINS_CHAOS_FAULTS'] ?? '12');
const seed = Number(process.env['REINS_CHAOS_SEED'] ?? String(Date.now() % 1_000_000));
const only = process.env['REINS_CHAOS_ONLY'] ?? '';
const leaseMs = 2_000;
const atOnce = 9;
/** Where others want the processors as well, everything takes as much longer. */
const goesOnWithinMs = () => 5_000 * Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());

const kinds = (Object.keys(faults) as Fault[]).filter((fault) => fault.includes(only));

/** Every kind comes before one comes again. */
function planOf(random: ReturnType<typeof seededRandom>): readonly Fault[] {
  const plan: Fault[] = [];
  for (let left: Fault[] = []; plan.length < count;) {
    if (left.length === 0) left = [...kinds];
    plan.push(...left.splice(random.below(left.length), 1));
  }
  return plan;
}

describeWithPostgres('servers on PostgreSQL that break', (cluster) => {
  test(
    `E-827, E-831, E-542: ${count} faults lose, repeat and block nothing (REINS_CHAOS_SEED=${seed})`,
    { timeout: 60_000 + count * 30_000 },
    async () => {
      const [database, traces] = [await cluster(), temporaryFolder()];
      const replies = (asked: string) => scriptOf(Number(/\d+/.exec(asked)?.[0]), traces).replies;
      await using model = await startModel(replies, systemClock);
      const servers = await startServerCluster({
        databaseUrl: await database.database(),
        model,
        leaseMs,
        settings: { agent: { shell: { kind: 'host' } } },
        answerWithinMs: 5_000,
      });
      const clients = startClients(servers, seed);
      const random = seededRandom(seed);
      const done: Followed[] = [];
      const measured: (Measured & { readonly withinMs: number })[] = [];
      const over = new AbortController();
      let next = 0;
      const work = async () => {
        while (!over.signal.aborted) done.push(await clients.follow(next++));
      };
      const working = Array.from({ length: atOnce }, work);
      const breaking = (async () => {
        for (const fault of planOf(random)) {
          const each = await strike({ cluster: servers, database, random }, fault);
          measured.push({ ...each, withinMs: goesOnWithinMs() });
          say(
            `${fault}: ${each.orphans} runs lost their server, all had gone on after ${Math.round(each.goneOnMs)} ms`,
          );
        }
        over.abort();
      })();
      await Promise.all([breaking, ...working]).finally(() => over.abort());
      say('all faults are over');
      expect(clients.odd).toEqual([]);
      const proven: ProvenTask[] = [];
      for (const task of done) proven.push(await proveTask(servers, task, traces));
      const total = (of: (each: ProvenTask) => number) => proven.reduce((sum, each) => sum + of(each), 0);
      say(
        `${done.length} runs, ${total(({ legs }) => legs - 1)} takeovers, ${total(({ gaps }) => gaps)} gaps, ` +
          `${total(({ connections }) => connections)} connections of readers, requests per node ${servers.balancer.counts.join(' ')}`,
      );
      expect(measured.filter(({ goneOnMs, withinMs }) => goneOnMs > withinMs)).toEqual([]);
      expect(await servers.open()).toEqual([]);
    },
  );
});

function say(line: string): void {
  process.stderr.write(`  ${new Date().toISOString()} ${line}\n`);
}
