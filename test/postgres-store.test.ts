import { describeStoreContract } from '../src/testing/store-contract.ts';
import { describeWithPostgres, openStore } from './support/postgres.ts';

describeWithPostgres('PostgreSQL', (cluster) => {
  describeStoreContract('postgres', async () => {
    const url = await (await cluster()).emptied();
    return { store: await openStore(url), reopen: () => openStore(url) };
  });
});
