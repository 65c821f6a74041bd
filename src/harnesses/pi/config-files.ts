// What Pi reads at its start, in a folder of its own below the session's home: no argument and no variable holds a secret or a
// prompt (H-082, H-131). Written anew at each start: what a tool may have left there does not last.

import { gateSource } from './gate.ts';
import { instructionsOf } from '../foreign/instructions-of.ts';
import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { writePrivate } from '../foreign/private-files.ts';
import type { JsonObject } from '../../core/json.ts';
import type { NativeLease, OpenNative, ResolvedMcpServer } from '../foreign/runtime.ts';
import type { ProviderName } from '../../core/provider-names.ts';

export interface PiFiles {
  /** For `PI_CODING_AGENT_DIR`: configuration and sessions. */
  readonly agentDir: string;
  readonly gate: string;
  /** Null: nothing is to be added to Pi's own. */
  readonly systemPrompt: string | null;
  readonly hasMcpServers: boolean;
}

/** Of the provider under which a model is found that Pi's catalogue does not know. */
export const plainProvider = 'reins';

export async function writePiFiles({ home, lease, model, config, mcpServers }: OpenNative): Promise<PiFiles> {
  const agentDir = join(home, 'agent');
  await mkdir(agentDir, { recursive: true, mode: 0o700 });
  const write = (name: string, content: string | JsonObject) => writePrivate(join(agentDir, name), content);
  const servers = mcpServers.flatMap((server) => mcpEntry(server));
  const system = instructionsOf(config);
  await Promise.all([
    write('models.json', { providers: providersFor(lease, model) }),
    write('settings.json', settings),
    write('mcp.json', { mcpServers: Object.fromEntries(servers) }),
    write('gate.mjs', gateSource),
    write('system.md', system ?? ''),
  ]);
  return {
    agentDir,
    gate: join(agentDir, 'gate.mjs'),
    systemPrompt: system === null ? null : join(agentDir, 'system.md'),
    hasMcpServers: servers.length > 0,
  };
}

const settings = {
  retry: { enabled: true, maxRetries: 3, baseDelayMs: 1_000, maxAgentDelayMs: 30_000 },
  defaultProjectTrust: 'never',
  defaultThinkingLevel: 'medium',
  // A call of its own now and then, which nobody asked for.
  cacheWarming: 'off',
  transport: 'sse',
} as const satisfies JsonObject;

/** Providers that Pi has a catalogue of, by the name that both sides use. */
export const hasCatalogue = (provider: ProviderName): boolean => provider === 'anthropic' || provider === 'openai';

/** The model as one that nothing is known of; and the catalogue's provider, for models that it knows. */
function providersFor({ url, token, provider }: NativeLease, model: string): JsonObject {
  const api = apiOf(provider);
  const access = { baseUrl: api === 'anthropic-messages' ? url : `${url}/v1`, apiKey: literal(token) };
  const models = [{ id: model, contextWindow: 128_000, maxTokens: 8_192 }];
  return {
    [plainProvider]: { ...access, api, models },
    ...(hasCatalogue(provider) ? { [provider]: access } : {}),
  };
}

function apiOf(provider: ProviderName): string {
  if (provider === 'anthropic') return 'anthropic-messages';
  return provider === 'openai' ? 'openai-responses' : 'openai-completions';
}

/** Declared to the model as they are: by default Pi hides them behind a tool that runs scripts. */
const exposure = 'direct';

function mcpEntry({ name, server }: ResolvedMcpServer): readonly (readonly [string, JsonObject])[] {
  switch (server.transport) {
    case 'stdio': {
      const { command, args, env, cwd } = server;
      return [[name, { command, args, env: literals(env), ...(cwd === null ? {} : { cwd }), exposure }]];
    }
    case 'http':
      return [[name, { url: server.url, headers: literals(server.headers), exposure }]];
    case 'sse':
      return [];
  }
}

/** Pi takes `$NAME` for a variable and a leading `!` for a command to run. */
function literal(value: string): string {
  return value.replaceAll('$', '$$$$').replace(/^!/, '$!');
}

function literals(values: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, literal(value)]));
}
