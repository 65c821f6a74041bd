import { available, remoteServer, serverOfPlugin, type HarnessToolsOptions } from './harness-tools.ts';
import { checkedAddresses } from './net/public-host.ts';
import { join } from 'node:path';
import { placeBundle } from './place-bundle.ts';
import type { McpServer } from './engine/mcp/mcp-server.ts';
import type { ResolvedMcpServer } from './harnesses/foreign/runtime.ts';
import type { RunState } from './core/run-state.ts';
import type { RuntimeExtras } from './harnesses/foreign/foreign-parts.ts';

/**
 * What the settings and a harness bring to a runtime that connects by itself: the same servers, skills and plugins that the
 * engine gets, with the same limits on where they may lie. A name is looked up when it is handed over, and not again.
 * @param own  Servers of the settings, which may lie anywhere.
 */
export function createRuntimeExtras(
  options: HarnessToolsOptions,
  own: readonly McpServer[],
): (state: RunState, workspace: string) => Promise<RuntimeExtras> {
  return async ({ config, task, sessionId }, workspace) => {
    const extensions = config?.extensions;
    const ours = own.filter(({ disabled }) => disabled !== true);
    if (extensions === undefined || task === null)
      return { mcpServers: ours.map(resolved), skillFolders: options.skills, degraded: [] };
    const { mcpServers, plugins, skills } = extensions;
    const session = { sessionId, harnessId: task.harnessId, workspace, extensions };
    const named = [
      ...mcpServers.map((server) => ({ name: server.name, made: remoteServer(options, session, server) })),
      ...plugins.flatMap((plugin) =>
        plugin.mcpServers.map((server) => ({
          name: server.name,
          made: serverOfPlugin(options, session, { plugin, server }),
        })),
      ),
    ];
    const found = await available(
      options,
      named.map(async ({ made }) => reachable(await made)),
    );
    const servers = found.filter((server) => server !== null);
    const place = (bundle: string) => placeBundle(options, task.harnessId, bundle);
    const folders = await available(options, [
      ...skills.map(async ({ bundle }) => place(bundle)),
      ...plugins.flatMap(({ bundle, skills: names }) =>
        names.map(async (name) => join(await place(bundle), 'skills', name)),
      ),
    ]);
    const missing = named.filter(({ name }) => !servers.some((server) => server.name === name));
    return {
      mcpServers: [...servers, ...ours].map(resolved),
      skillFolders: [...folders, ...options.skills],
      degraded: missing.map(({ name }) => `mcp:${name}`),
    };
  };
}

async function reachable(server: McpServer | null): Promise<McpServer | null> {
  if (server === null || server.transport === 'stdio' || server.reach === undefined) return server;
  await checkedAddresses(new URL(server.url).hostname, server.reach);
  return server;
}

function resolved(server: McpServer): ResolvedMcpServer {
  const { name } = server;
  if (server.transport !== 'stdio')
    return { name, server: { transport: server.transport, url: server.url, headers: server.headers ?? {} } };
  const { command, args = [], env = {}, cwd = null } = server;
  return { name, server: { transport: 'stdio', command, args, env, cwd } };
}
