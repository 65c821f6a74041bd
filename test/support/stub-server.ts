// A server whose foreign harnesses are stubs, with a model provider that answers nothing.

import { join } from 'node:path';
import { placeStubs, processesOf, stubBases, type StubBase } from './stub-programs.ts';
import { startServer, type TestServer } from './server.ts';
import { startUpstream, type Upstream } from './odd-upstream.ts';
import { temporaryFolder } from './folders.ts';
import type { Body } from './event-stream.ts';
import type { Logger } from '../../src/core/logger.ts';
import type { TreeMember } from '../../src/process/process-tree.ts';

/** `acp-never` does not even answer when it is started. */
type Base = StubBase | 'acp-never';

export interface StubServer extends TestServer {
  readonly data: string;
  readonly upstream: Upstream;
  /** Entries of its log, each as one text. */
  readonly logged: readonly string[];
  /** The request that makes a stub act. */
  ask(base: Base, act: string): { readonly [field: string]: unknown };
  run(base: Base, act: string): Promise<Body>;
  goOn(base: Base, after: Body, act: string): Promise<Body>;
  /** Processes that work for its session. */
  left(response: Body): Promise<readonly TreeMember[]>;
}

export const providerKey = 'provider-key-of-the-test';

export async function startStubServer({
  status,
  providerUrl,
  silence = {},
  harnesses = {},
}: {
  /** What model calls are refused with. */
  readonly status?: number;
  /** Where the models are instead. */
  readonly providerUrl?: string;
  readonly silence?: object;
  /** Other settings of them. */
  readonly harnesses?: object;
} = {}): Promise<StubServer> {
  const data = temporaryFolder();
  const logged: string[] = [];
  const note = (...said: readonly unknown[]) => void logged.push(JSON.stringify(said));
  const logger: Logger = { info: note, warn: note, error: note };
  const upstream = await startUpstream(status);
  const env = {
    OPENAI_API_KEY: providerKey,
    OPENAI_BASE_URL: providerUrl ?? upstream.url,
    ANTHROPIC_API_KEY: providerKey,
    ANTHROPIC_BASE_URL: upstream.url,
  };
  const stubs = placeStubs(join(data, 'stubs'), silence).harnesses;
  const server = await startServer({ data, env, settings: { harnesses: { ...stubs, ...harnesses } }, logger });
  const { uhp } = server;
  const ids = new Map<string, string>();
  for (const base of [...stubBases, 'acp-never'])
    ids.set(base, (await uhp.send('POST', '/v1/harnesses', { body: { base, name: base } })).body.id);
  const ask: StubServer['ask'] = (base, act) => ({
    input: `Now ${act}`,
    model: base === 'claude-code' ? 'anthropic/test-model' : 'openai/test-model',
    metadata: { harness_id: ids.get(base) },
  });
  return {
    ...server,
    data,
    upstream,
    logged,
    ask,
    run: async (base, act) => (await uhp.create(ask(base, act))).body,
    goOn: async (base, { id }, act) => (await uhp.create({ ...ask(base, act), previous_response_id: id })).body,
    left: ({ metadata }) => processesOf(data, metadata.session_id),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    },
  };
}

/** How a response ended: its status, and code and sentence of its error. */
export const endingOf = ({ status, error }: Body) => [status, error?.code ?? null, error?.message ?? null];
export const fine = ['completed', null, null] as const;
