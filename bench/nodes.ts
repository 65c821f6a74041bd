import type { BenchDatabase } from './postgres-cluster.ts';
import { startServer, type ServerUnderTest } from './server-link.ts';
import { temporaryFolder } from './server-pair.ts';

export interface Nodes extends AsyncDisposable {
  readonly servers: readonly ServerUnderTest[];
}

/** Servers on one database and one data folder, each a process of its own; `deaf`: it does not hear of the others. */
export async function startNodes(
  { url }: BenchDatabase,
  kinds: readonly ('hearing' | 'deaf')[],
  profile?: string,
): Promise<Nodes> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const args = (kind: 'hearing' | 'deaf') => [folder.path, '--database', url, ...(kind === 'deaf' ? ['--deaf'] : [])];
  const servers = await Promise.all(kinds.map((kind) => startServer('reins-server.ts', args(kind), profile)));
  stack.defer(async () => void (await Promise.all(servers.map((server) => server.stop()))));
  const rest = stack.move();
  return { servers, [Symbol.asyncDispose]: () => rest.disposeAsync() };
}
