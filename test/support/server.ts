import { join } from 'node:path';
import { connectTo, key, type Uhp } from './uhp.ts';
import { createServer, type Parts } from '../../src/compose.ts';
import { loadConfig } from '../../src/config.ts';
import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { startReins, type ReinsProcess } from '../reins-process.ts';
import type { Store } from '../../src/stores/store.ts';

export interface TestServer extends AsyncDisposable {
  readonly uhp: Uhp;
  readonly url: string;
}

export interface ServerOptions extends Parts {
  readonly data: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What `config.json` in the data folder would say. */
  readonly settings?: object;
}

/** The server as `reins serve` composes it, in this process: real HTTP, a real database. */
export async function startServer({ data, env = {}, settings = {}, ...parts }: ServerOptions): Promise<TestServer> {
  const config = loadConfig({
    flags: { data, port: '0' },
    env: { REINS_API_KEY: key, REINS_DEMO_SPEED: 'full', ...env },
    readFile: () => JSON.stringify(settings),
  });
  const server = await createServer(config, { logger: silentLogger, ...parts });
  const { url } = await server.listen();
  return { url, uhp: connectTo(url), [Symbol.asyncDispose]: () => server.close() };
}

/** The command `reins serve`, ready: a process that can be killed. */
export async function startProcess(
  data: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly uhp: Uhp; readonly process: ReinsProcess; kill(): Promise<void> }> {
  const process = startReins(['serve', '--data', data, '--port', '0'], { env: { REINS_API_KEY: key, ...env } });
  const said = await process.saw('reins listening on');
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0] ?? '';
  return {
    uhp: connectTo(url),
    process,
    async kill() {
      process.child.kill('SIGKILL');
      await process.ended;
    },
  };
}

/** The store of a data folder that no server works on now. */
export async function withStore<T>(data: string, use: (store: Store) => Promise<T>): Promise<T> {
  await using store = openSqlite(join(data, 'reins.db'));
  return use(store);
}
