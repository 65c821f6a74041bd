// Any test's server as several ones, on one PostgreSQL and its data folder, behind a balancer: by hand, with
// `REINS_TEST_CLUSTER=3 npx vitest run test/protocol.test.ts`. What looks into the data folder's database looks there instead.

import { afterAll, TestRunner } from 'vitest';
import { connectTo } from './uhp.ts';
import { startBalancer } from './cluster-balancer.ts';
import { startCluster, type Cluster } from './postgres.ts';
import type { ServerOptions, TestServer } from './server.ts';

/** How many servers a test's server is. */
export const clusterSize = Number(process.env['REINS_TEST_CLUSTER'] ?? '1');

let postgres: Promise<Cluster> | null = null;
/** By data folder: a server that is started again finds what was there. */
const databases = new Map<string, string>();

if (clusterSize > 1) afterAll(async () => (await postgres)?.[Symbol.asyncDispose]());

/** What makes a program take the database of this data folder; it is made with the first question. */
export async function databaseEnv(data: string): Promise<Readonly<Record<string, string>>> {
  if (clusterSize === 1) return {};
  const url = databases.get(data) ?? (await (await (postgres ??= startCluster())).database());
  databases.set(data, url);
  return { REINS_DATABASE_URL: url };
}

/** Undefined: the one in the folder itself. */
export const databaseOf = (data: string): string | undefined => databases.get(data);

/** For a test whose means are those of one server: through several it is skipped, and says why. */
export function needsOneServer(why: string): void {
  if (clusterSize > 1) TestRunner.getCurrentTest()?.context.skip(why);
}

export async function startBalanced(
  options: ServerOptions,
  start: (options: ServerOptions) => Promise<TestServer>,
): Promise<TestServer> {
  const servers: TestServer[] = [];
  const balancer = await startBalancer({ upstreams: () => servers.map(({ url }) => url) });
  const settings = { ...options.settings, store: { connections: 4 } };
  const env = { REINS_PUBLIC_URL: balancer.url, ...options.env, ...(await databaseEnv(options.data)) };
  for (let n = 0; n < clusterSize; n++) servers.push(await start({ ...options, settings, env }));
  return {
    url: balancer.url,
    uhp: connectTo(balancer.url),
    async [Symbol.asyncDispose]() {
      // Who reads hears the end of its stream from its server.
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
      await balancer[Symbol.asyncDispose]();
    },
  };
}
