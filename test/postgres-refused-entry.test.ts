// What the database refuses of one run, met by the writers of many.

import { createRunLog } from '../src/stores/run-log.ts';
import { admissionOf, noteDraft, resultDraft } from '../src/testing/store-samples.ts';
import { describeWithPostgres, openStore } from './support/postgres.ts';
import { expect, test } from 'vitest';
import { RefusedEntryError } from '../src/core/errors.ts';
import { silentLogger } from '../src/core/logger.ts';
import { systemClock } from '../src/system.ts';
import { upTo } from '../src/testing/log-rig.ts';

describeWithPostgres('PostgreSQL that refuses an entry', (cluster) => {
  test('C2, Q7: a charge that no column holds fails its run alone, which ends by another one', async () => {
    await using store = await openStore(await (await cluster()).database());
    const log = createRunLog({ store, clock: systemClock, logger: silentLogger });
    const runs = await Promise.all(
      upTo(10).map(async (name) => {
        const admission = admissionOf(`${name}`);
        await log.admit(admission);
        return { ...admission, writer: log.writer({ ...admission, generation: 1, lastSeq: 1, leg: 1 }) };
      }),
    );
    const ending = { status: 'completed', response: null, atMs: 9 } as const;
    const end = ({ runId, sessionId, writer }: (typeof runs)[number], tokens: number) =>
      writer.end([resultDraft(runId, sessionId)], { ...ending, spent: { tokens } });
    const [bad, huge, ...others] = runs;
    if (bad === undefined || huge === undefined) throw new Error('There are no runs.');
    const results = await Promise.allSettled([
      end(bad, 12.5),
      end(huge, 1e30),
      ...others.map(({ writer }) => writer.write([noteDraft('n')])),
    ]);
    expect(results.slice(0, 2)).toMatchObject([1, 2].map(() => ({ reason: expect.any(RefusedEntryError) })));
    expect(results.slice(2).map(({ status }) => status)).toEqual(others.map(() => 'fulfilled'));
    expect(await Promise.all([bad, huge].map((run) => end(run, 3)))).toMatchObject([
      { outcome: 'ended' },
      { outcome: 'ended' },
    ]);
    expect(await store.spending('owner', '1970-01-01')).toMatchObject({ tokens: 6 });
    await log.close();
  });
});
