// Servers are replaced one after the other, in order, while their tasks go on.

import { expect, test } from 'vitest';
import { describeWithPostgres } from './support/postgres.ts';
import { proveTask, scriptOf, startClients, type ProvenTask } from './support/cluster-work.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { startModel } from './support/model.ts';
import { startServerCluster } from './support/cluster.ts';
import { systemClock } from '../src/system.ts';
import { temporaryFolder } from './reins-process.ts';

const tasks = 20;

describeWithPostgres('servers that are replaced', (cluster) => {
  test(
    `E-834: each of three servers is stopped in order and started again while ${tasks} tasks run: nothing is lost, and no client sees more than a connection that ends`,
    { timeout: 120_000 },
    async () => {
      const traces = temporaryFolder();
      const replies = (asked: string) => scriptOf(Number(/\d+/.exec(asked)?.[0]), traces).replies;
      await using model = await startModel(replies, systemClock);
      const servers = await startServerCluster({
        databaseUrl: await (await cluster()).database(),
        model,
        settings: { agent: { shell: { kind: 'host' } }, limits: { withdrawSeconds: 1, drainSeconds: 0 } },
      });
      const clients = startClients(servers, 1);
      const following = Promise.all(Array.from({ length: tasks }, (_, n) => clients.follow(n)));
      following.catch(() => {}); // heard of below
      for (const node of servers.nodes) {
        await pause(200);
        await node.terminate();
        expect(await node.process.ended).toMatchObject({ code: 0, signal: null });
        await node.start();
      }
      const done = await following;
      expect(clients.odd).toEqual([]);
      const proven: ProvenTask[] = [];
      for (const task of done) proven.push(await proveTask(servers, task, traces));
      // The restarts fell into the work, not beside it.
      expect(proven.filter(({ legs }) => legs > 1).length).toBeGreaterThan(0);
      expect(await servers.open()).toEqual([]);
    },
  );
});
