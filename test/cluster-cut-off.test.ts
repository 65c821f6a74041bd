// A server that cannot reach the database while others can, or that stands still in the middle of what it does there.

import { expect, onTestFinished, test } from 'vitest';
import { admitted, entry, lastSeq } from '../src/testing/store-steps.ts';
import { answerOf, assembleOutput, isDelta } from './support/event-stream.ts';
import { begin, watch } from './support/shared-folder.ts';
import { checkLog } from '../src/testing/check-log.ts';
import { createGate, hold, reply, startModel, text } from './support/model.ts';
import { describeWithPostgres, openStore } from './support/postgres.ts';
import { eventually } from './support/asking-server.ts';
import { finalOf } from './support/uhp.ts';
import { startServerCluster, twoNodes } from './support/cluster.ts';
import { startWire } from './support/cluster-wire.ts';

describeWithPostgres('servers that lose sight of their database', (cluster) => {
  test.each(['refused', 'stalled'] as const)(
    'E-827, E-825: a server cut off for longer than its lease (%s) gives up its model call, and nothing that it writes late enters the log',
    { timeout: 60_000 },
    async (how) => {
      const gate = createGate();
      const held = [reply(text('first '), hold, text('second'))];
      const model = await startModel(() => held, gate);
      onTestFinished(() => model[Symbol.asyncDispose]());
      const databaseUrl = await (await cluster()).database();
      const servers = await startServerCluster({ databaseUrl, model, nodes: 2, leaseMs: 2_000 });
      const [owner, other] = twoNodes(servers);
      const id = await begin(owner, 'held');
      const [near, far] = [watch(await owner.uhp.attach(id)), watch(await other.uhp.attach(id))];
      await eventually(() => (near.seen.some(isDelta) && far.seen.some(isDelta)) || undefined);
      owner.wire.set(how);
      // Another goes on, and calls the model itself.
      await eventually(() => model.server.requests.length === 2 || undefined, 15_000);
      // Its first owner hangs up, long before its database is back.
      await eventually(() => model.server.open === 1 || undefined, 20_000);
      gate.open();
      await far.over;
      owner.wire.set('open');
      await near.over;
      const kept = far.seen.map((frame) => frame.text);
      expect(near.seen.map((frame) => frame.text)).toEqual(kept);
      expect(far.seen.map((frame) => frame.id)).toEqual(far.seen.map((_, index) => index));
      expect(answerOf(finalOf(far.seen))).toBe('first second');
      expect(assembleOutput(far.seen)).toEqual(finalOf(far.seen).output);
      const log = await servers.logOf(id);
      expect(checkLog(log)).toEqual([]);
      const [, second] = log.filter(({ type }) => type === 'run-started');
      expect(second).toMatchObject({ leg: 2, data: { cause: 'recovery' } });
      expect(log.filter(({ seq, leg }) => seq > (second?.seq ?? 0) && leg !== 2)).toEqual([]);
    },
  );

  test('E-826: who stands still in the middle of a transaction holds nobody up for long, and is fenced when it wakes', async () => {
    const databaseUrl = await (await cluster()).database();
    const frozen = Promise.withResolvers<void>();
    let isFreezing = false;
    const isFrozen = Promise.withResolvers<void>();
    const owner = await openStore(databaseUrl, {
      listenUrl: null,
      async onStatement(sql) {
        if (!isFreezing || sql !== 'COMMIT') return;
        isFreezing = false;
        isFrozen.resolve();
        await frozen.promise;
      },
    });
    const other = await openStore(databaseUrl, { listenUrl: null });
    onTestFinished(() => Promise.all([owner[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]).then(() => {}));
    const a = await admitted(owner, 'a');
    isFreezing = true;
    const late = owner.append([entry(a, 1)], { durable: true });
    await isFrozen.promise;
    const beganMs = performance.now();
    expect(await other.takeOver(a.runId, 'other')).toMatchObject({ generation: 2 });
    expect(performance.now() - beganMs).toBeLessThan(5_000);
    frozen.resolve();
    expect(await late).toEqual([{ outcome: 'lease-lost' }]);
    expect(await lastSeq(other, a)).toBe(1);
  });

  test('a server that hears nothing of its database can be stopped', async () => {
    const wire = await startWire(await (await cluster()).database());
    onTestFinished(() => wire[Symbol.asyncDispose]());
    const store = await openStore(wire.url);
    const heard = Promise.withResolvers<void>();
    store.onNews?.(() => heard.resolve());
    await heard.promise;
    wire.set('stalled');
    await store[Symbol.asyncDispose]();
  });
});
