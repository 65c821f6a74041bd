// The suite over all drivers (E-950) on PostgreSQL: three processes' worth of runtimes share the database, and the one that a
// script talks to is not alone.

import { createRuntime } from '../src/runtime.ts';
import { describeDriver } from '../src/testing/driver-contract.ts';
import { describeWithPostgres, openStore } from './support/postgres.ts';

describeWithPostgres('E-950', (cluster) => {
  describeDriver('the durable driver on PostgreSQL, with two more beside it,', async (agents) => {
    const url = await (await cluster()).database();
    const open = async () =>
      createRuntime({ agents, driver: { kind: 'store', store: await openStore(url, { connections: 2 }) } });
    const [runtime, ...others] = [await open(), await open(), await open()];
    return Object.assign(runtime, {
      async [Symbol.asyncDispose]() {
        await Promise.all([runtime, ...others].map((each) => each.close({ drainMs: 0 })));
      },
    });
  });
});
