import { setTimeout as pause } from 'node:timers/promises';
import { allScopes, createKey } from '../../src/auth/keys.ts';
import { harnessIds } from '../../src/core/ids.ts';
import { connectTo, key, type Uhp } from './uhp.ts';
import { createServer, type Parts } from '../../src/compose.ts';
import { loadConfig } from '../../src/config.ts';
import { openStoreOf } from './rows.ts';
import { plainSetup, type HarnessRecord } from '../../src/stores/harness-record.ts';
import { clusterSize, databaseEnv, startBalanced } from './cluster-in-process.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { startProgram, startReins, type ReinsProcess } from '../reins-process.ts';

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

/** The server as `reins serve` composes it, in this process: real HTTP, a real database. With `REINS_TEST_CLUSTER` several. */
export function startServer(options: ServerOptions): Promise<TestServer> {
  const isOneOfItsOwn = clusterSize === 1 || options.env?.['REINS_DATABASE_URL'] !== undefined;
  return isOneOfItsOwn ? startOne(options) : startBalanced(options, startOne);
}

async function startOne({ data, env = {}, settings = {}, ...parts }: ServerOptions): Promise<TestServer> {
  const { limits }: { limits?: object } = settings;
  const config = loadConfig({
    flags: { data, port: '0' },
    env: { REINS_API_KEY: key, REINS_DEMO_SPEED: 'full', ...env },
    // A test that ends waits for none of its tasks.
    readFile: () => JSON.stringify({ ...settings, limits: { drainSeconds: 0, withdrawSeconds: 0, ...limits } }),
  });
  const server = await createServer(config, { logger: silentLogger, ...parts });
  const { url } = await server.listen();
  return { url, uhp: connectTo(url), [Symbol.asyncDispose]: () => server.close() };
}

export interface ServerProcess {
  readonly uhp: Uhp;
  readonly process: ReinsProcess;
  kill(): Promise<void>;
}

/** The command `reins serve`, ready: a process that can be killed. With `REINS_TEST_CLUSTER` one of several on its database. */
export async function startProcess(data: string, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const own = { REINS_API_KEY: key, ...(await databaseEnv(data)), ...env };
  return ready(startReins(['serve', '--data', data, '--port', '0'], { env: own }));
}

/** The same with another lease than the usual one. */
export async function startLeased(
  data: string,
  { leaseMs, env }: { readonly leaseMs: number; readonly env: Readonly<Record<string, string>> },
): Promise<ServerProcess> {
  const program = `${import.meta.dirname}/../fixtures/leased-server.ts`;
  return ready(startProgram(program, [data, String(leaseMs)], { env: { REINS_API_KEY: key, ...env } }));
}

async function ready(process: ReinsProcess): Promise<ServerProcess> {
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

/** A start of `reins serve` that is killed after so many ms, mostly before it listens. */
export async function killDuringStart(data: string, ms: number): Promise<void> {
  const { child, ended } = startReins(['serve', '--data', data, '--port', '0'], { env: { REINS_API_KEY: key } });
  await pause(ms);
  child.kill('SIGKILL');
  await ended;
}

/** A further harness, and a key of its principal, made while no server works on the folder. */
export async function addHarness(
  data: string,
  principal: string,
  change: Partial<HarnessRecord> = {},
): Promise<{ readonly token: string; readonly harnessId: string }> {
  await databaseEnv(data);
  await using store = await openStoreOf(data);
  const harnessId = harnessIds.make(`of-${principal}-${(await store.harnesses(principal)).length}`);
  const { key: token, record } = createKey({ principal, scopes: allScopes, atMs: Date.now() });
  await store.putKey(record);
  await store.putHarness({
    harnessId,
    principal,
    name: principal,
    base: 'native',
    defaultModel: null,
    systemPrompt: null,
    disabledTools: [],
    maxStep: null,
    timeoutSeconds: null,
    permissions: null,
    setup: plainSetup,
    planning: null,
    createdAtMs: Date.now(),
    deleted: false,
    ...change,
  });
  return { token, harnessId };
}
