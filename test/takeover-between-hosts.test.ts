// E-826: nodes on different hosts cannot look at each other's processes: what a dead one leaves is free when its lease has ended.

import { answerOf, isDelta } from './support/event-stream.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { createGate, hold, reply, startModel, text } from './support/model.ts';
import { describeWithPostgres, openStore, query } from './support/postgres.ts';
import { begin, watch } from './support/shared-folder.ts';
import { ended } from './support/uhp.ts';
import { eventually } from './support/asking-server.ts';
import { expect, test } from 'vitest';
import { runIds } from '../src/core/ids.ts';
import { startLeased } from './support/server.ts';
import { temporaryFolder } from './reins-process.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const leaseMs = 4_000;

describeWithPostgres('nodes on two hosts', (cluster) => {
  test('a dead one keeps its task for its lease and no longer; a living one for as long as it works', async () => {
    const [data, gate] = [temporaryFolder(), createGate()];
    await using model = await startModel(() => [reply(text('first '), hold, text('second'))], gate);
    writeFileSync(join(data, 'config.json'), JSON.stringify(model.settings));
    const url = await (await cluster()).database();
    const env = { ...model.env, REINS_DATABASE_URL: url };
    const [owner, other] = await Promise.all([1, 2].map(() => startLeased(data, { leaseMs, env })));
    if (owner === undefined || other === undefined) throw new Error('There are no servers.');
    // As an observer on another machine finds it: of a boot that is not its own.
    await query(url, `UPDATE owners SET place = 'boot of the host ' || owner`);
    const id = await begin(owner, 'x');
    const { seen, over } = watch(await other.uhp.attach(id));
    await eventually(() => seen.some(isDelta) || undefined);
    await new Promise((resolve) => setTimeout(resolve, 1.2 * leaseMs));
    expect(model.asked('x')).toHaveLength(1);
    await owner.kill();
    const killedMs = performance.now();
    await eventually(() => model.asked('x').length === 2 || undefined, 5 * leaseMs);
    const tookMs = performance.now() - killedMs;
    // Its last word was said up to a quarter of the lease before. That it takes no longer than a second more is a matter of
    // clocks, and proven with one that is moved by hand (`ownership.test.ts`).
    expect(tookMs).toBeGreaterThan(0.7 * leaseMs);
    gate.open();
    await over;
    expect(seen.map((frame) => frame.id)).toEqual(seen.map((_, index) => index));
    expect(answerOf(await ended(other.uhp, id))).toBe('first second');
    await using store = await openStore(url);
    expect(checkLog(await store.readEvents(runIds.parse(id) ?? runIds.make(''), { after: 0, limit: 1_000 }))).toEqual(
      [],
    );
  }, 60_000);
});
