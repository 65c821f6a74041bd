// What readers of other nodes' runs cost the database, counted at it: one query a second, however many read, and however many runs.

import { createManualClock } from '../src/testing/manual-clock.ts';
import { admitted, write } from '../src/testing/store-steps.ts';
import { createRunLog } from '../src/stores/run-log.ts';
import { describeWithPostgres, openStore } from './support/postgres.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test } from 'vitest';
import { read, upTo } from '../src/testing/log-rig.ts';
import { silentLogger } from '../src/core/logger.ts';
import { textDraft } from '../src/testing/store-samples.ts';

describeWithPostgres('readers at another node', (cluster) => {
  test.each([
    ['without LISTEN', null],
    ['with it: a word may be lost', undefined],
  ])(
    'sixty readers of twenty silent runs, %s: one query a second; news costs its readers one each',
    async (_, listenUrl) => {
      const url = await (await cluster()).database();
      await using store = await openStore(url, { listenUrl: null });
      const asked: string[] = [];
      const listen = listenUrl === undefined ? {} : { listenUrl };
      await using other = await openStore(url, { ...listen, onStatement: (sql) => asked.push(sql) });
      const clock = createManualClock();
      const log = createRunLog({ store: other, clock, logger: silentLogger });
      const runs = await Promise.all(upTo(20).map((name) => admitted(store, `${name}`)));
      const readers = runs.flatMap((run) => upTo(3).map(() => read(log, run)));
      await eventually(() => log.elsewhere.waiting === 60 || undefined);
      // The connection that listens has it all looked at once.
      if (listenUrl === undefined) await eventually(() => other.figures?.().isListening === true || undefined);
      await settled(asked);
      asked.length = 0;

      for (const second of upTo(3)) {
        await clock.advance(1_000);
        await eventually(() => (asked.length === second && clock.pending === 1) || undefined);
      }
      expect(new Set(asked).size).toBe(1);

      asked.length = 0;
      for (const run of runs.slice(0, 5)) await write(store, run, [textDraft('x')]);
      await clock.advance(1_000);
      await eventually(() => readers.filter(({ seen }) => seen.length === 2).length === 15 || undefined);
      await eventually(() => log.elsewhere.waiting === 60 || undefined);
      expect(asked.filter((sql) => sql.includes('event_batches')).length).toBeLessThanOrEqual(2 * 15);
      for (const reader of readers) reader.stop();
      await Promise.all(readers.map(({ done }) => done));
      await log.close();
    },
  );
});

/** Until nothing more was asked for a moment. */
async function settled(asked: readonly string[]): Promise<void> {
  for (let before = -1; before !== asked.length;) {
    before = asked.length;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
