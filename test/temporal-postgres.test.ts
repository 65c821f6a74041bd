// The whole set-up on several machines: servers and workers, each a process of its own, over one PostgreSQL and one Temporal.

import { answerOf, assembleOutput, isDelta } from './support/event-stream.ts';
import { begin, watch } from './support/shared-folder.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { createGate, hold, reply, startModel, text } from './support/model.ts';
import { describeWithPostgres, openStore } from './support/postgres.ts';
import { describeWithTemporal } from './support/temporal.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { finalOf } from './support/uhp.ts';
import { join } from 'node:path';
import { runIds } from '../src/core/ids.ts';
import { startProcess } from './support/server.ts';
import { startReins, temporaryFolder } from './reins-process.ts';
import { writeFileSync } from 'node:fs';

const soon = { timeout: 60_000, interval: 50 };

describeWithTemporal('two servers and two workers', (temporal) => {
  describeWithPostgres('over one PostgreSQL', (cluster) => {
    test('E-876, E-810: a worker is killed in the middle of an answer; a reader at the other server misses nothing', async () => {
      const [data, gate] = [temporaryFolder(), createGate()];
      const model = await startModel(() => [reply(text('first '), hold, text('second'))], gate);
      onTestFinished(() => model[Symbol.asyncDispose]());
      writeFileSync(join(data, 'config.json'), JSON.stringify(model.settings));
      const url = await (await cluster()).database();
      const { address } = await temporal();
      const env = { ...model.env, HOME: data, REINS_DATABASE_URL: url, REINS_TEMPORAL_ADDRESS: address };
      const work = async () => {
        const worker = startReins(['worker', '--data', data], { env });
        await worker.saw('reins works for Temporal at');
        return worker;
      };
      const [one, two, killed] = await Promise.all([startProcess(data, env), startProcess(data, env), work()]);

      const id = await begin(one, 'Tell me.');
      const { seen, over } = watch(await two.uhp.attach(id));
      await vi.waitFor(() => expect(seen.some(isDelta)).toBe(true), soon);
      const other = await work();
      killed.child.kill('SIGKILL');
      // Called again, by the one that is left.
      await vi.waitFor(() => expect(model.asked('Tell me.')).toHaveLength(2), soon);
      gate.open();
      await over;

      expect(seen.map((frame) => frame.id)).toEqual(seen.map((_, index) => index));
      const final = finalOf(seen);
      expect([final.status, answerOf(final)]).toEqual(['completed', 'first second']);
      expect(assembleOutput(seen)).toEqual(final.output);
      await using store = await openStore(url);
      const log = await store.readEvents(runIds.parse(id) ?? runIds.make(''), { after: 0, limit: 1_000 });
      expect(checkLog(log)).toEqual([]);
      expect(log.filter(({ type }) => type === 'gap')).toEqual([]);
      expect(log.filter(({ type }) => type === 'attempt-reset')).toMatchObject([{ data: { reason: 'worker-lost' } }]);

      for (const { child, ended } of [other, one.process, two.process]) {
        child.kill('SIGTERM');
        expect(await ended).toMatchObject({ code: 0 });
      }
    }, 120_000);
  });
});
