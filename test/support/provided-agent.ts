// A library agent over real provider clients and real sockets: one scripted model server a member of its chain.

import { createAgent, type AgentParts } from '../../src/agent.ts';
import { loadConfig, type Config } from '../../src/config.ts';
import { providers, type Provider } from './provider.ts';
import {
  startModelServer,
  type ModelServer,
  type RecordedRequest,
} from '../../src/testing/model-servers/model-server.ts';
import type { Agent } from '../../src/runtimes/direct-agent.ts';
import type { AgentConfig } from '../../src/runtimes/agent-config.ts';
import type { ReplyScript } from '../../src/testing/model-servers/reply-script.ts';

export type Script = ReplyScript<RecordedRequest>;

export interface ProvidedModels extends AsyncDisposable {
  readonly servers: readonly ModelServer[];
  readonly settings: Config;
  /** The first member and those behind it, as an agent's configuration names them. */
  readonly config: Pick<AgentConfig, 'model' | 'fallbacks'>;
}

export interface ProvidedAgent extends AsyncDisposable {
  readonly agent: Agent;
  /** In the order of the members. */
  readonly servers: readonly ModelServer[];
}

export function providerOf(prefix: Provider['prefix']): Provider {
  const found = providers.find((each) => each.prefix === prefix);
  if (found === undefined) throw new Error(`There is no provider ${prefix}.`);
  return found;
}

export async function startModels(members: readonly (readonly [Provider, Script])[]): Promise<ProvidedModels> {
  const servers = await Promise.all(members.map(([{ protocol }, script]) => startModelServer(protocol, script)));
  const env = Object.fromEntries(
    members.flatMap(([{ prefix }], at) => [
      [`${prefix}_BASE_URL`, servers[at]?.baseURL ?? ''],
      [`${prefix}_API_KEY`, 'key'],
    ]),
  );
  const [first, ...rest] = members.map(([{ model }]) => model);
  return {
    servers,
    settings: loadConfig({ env, readFile: () => null }),
    config: { model: first, fallbacks: rest.map((model) => ({ model })) },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

export async function startAgent(
  members: readonly (readonly [Provider, Script])[],
  { config = {}, ...parts }: AgentParts & { readonly config?: AgentConfig } = {},
): Promise<ProvidedAgent> {
  const models = await startModels(members);
  const agent = createAgent({ ...models.config, ...config }, { settings: models.settings, ...parts });
  return {
    agent,
    servers: models.servers,
    async [Symbol.asyncDispose]() {
      await agent.close();
      await models[Symbol.asyncDispose]();
    },
  };
}
