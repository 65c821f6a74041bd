// How the program is started: what it is told by arguments, environment and files. No prompt, no key and no configuration with
// secrets is among the arguments (H-131); those go over its standard input.

import { instructionsOf } from '../foreign/instructions-of.ts';
import { join } from 'node:path';
import { mkdir, rm } from 'node:fs/promises';
import { placeSkills, writePrivate } from '../foreign/private-files.ts';
import { runtimeEnvironment } from '../foreign/line-process.ts';
import type { Environment } from '../../process/child-environment.ts';
import type { JsonObject } from '../../core/json.ts';
import type { OpenNative, ResolvedMcpServer } from '../foreign/runtime.ts';

/** Of its tools, those that begin work which outlives a turn. */
const outlasting = ['Monitor', 'ScheduleWakeup'];

/** @param session  A new session's id, or that of one to go on with. */
export function argumentsOf({ config }: OpenNative, session: { readonly id: string; readonly resume: boolean }) {
  const disabled = [...outlasting, ...config.disabledTools.filter((name) => /^[\w*-]+$/.test(name))];
  return [
    '--input-format=stream-json',
    '--output-format=stream-json',
    '--verbose',
    '--include-partial-messages',
    '--permission-prompt-tool=stdio',
    '--permission-mode=default',
    '--await-initialize',
    // Settings, hooks and servers of a user never, of the workspace only where its operator wants them (H-084).
    ...(config.workspaceConfig === true
      ? ['--setting-sources=project,local']
      : ['--setting-sources=', '--strict-mcp-config']),
    `--disallowedTools=${disabled.join(',')}`,
    session.resume ? `--resume=${session.id}` : `--session-id=${session.id}`,
  ];
}

export function environmentOf(host: Environment, options: OpenNative): Environment {
  const { home, temporary, lease, model, config } = options;
  const { maxTokens = null, planning = false } = config;
  return runtimeEnvironment(host, {
    home,
    temporary,
    own: {
      CLAUDE_CONFIG_DIR: home,
      ANTHROPIC_BASE_URL: lease.url,
      ANTHROPIC_API_KEY: lease.token,
      // All that it does is done by the model that was chosen.
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_SUBAGENT_MODEL: model,
      CLAUDE_CODE_MAX_RETRIES: '2',
      CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      // A turn has its end, and nothing goes on after it.
      CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
      CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: '1',
      CLAUDE_CODE_DISABLE_CRON: '1',
      CLAUDE_CODE_DISABLE_WORKFLOWS: '1',
      // Else tools of MCP servers hide behind a search.
      ENABLE_TOOL_SEARCH: 'false',
      MCP_TIMEOUT: '10000',
      ...(planning ? { CLAUDE_CODE_ENABLE_TODO_TOOLS: '1' } : {}),
      ...(maxTokens === null ? {} : { CLAUDE_CODE_MAX_OUTPUT_TOKENS: `${maxTokens}` }),
    },
  });
}

/** What it is told first. */
export function initializeRequest({ config, mcpServers }: OpenNative, plugin: string | null): JsonObject {
  const words = instructionsOf(config);
  const servers = mcpServers.map(({ name, server }) => [name, serverConfig(server)]);
  return {
    subtype: 'initialize',
    hooks: { PreToolUse: [{ hookCallbackIds: ['ask'] }] },
    ...(words === null ? {} : { appendSystemPrompt: words }),
    ...(servers.length === 0 ? {} : { mcpServers: Object.fromEntries(servers) }),
    ...(plugin === null ? {} : { plugins: [{ type: 'local', path: plugin }] }),
  };
}

function serverConfig(server: ResolvedMcpServer['server']): JsonObject {
  if (server.transport !== 'stdio') return { type: server.transport, url: server.url, headers: server.headers };
  const { command, args, env, cwd } = server;
  const plain = { type: 'stdio', command, args, env };
  // It has no place for a folder in its own configuration.
  return cwd === null
    ? plain
    : { ...plain, command: '/bin/sh', args: ['-c', 'cd "$1" && shift && exec "$@"', 'sh', cwd, command, ...args] };
}

/** The skills as a plugin in the home (H-083): its folder, or null where there are none. */
export async function placePlugin({ home, skillFolders }: OpenNative): Promise<string | null> {
  const plugin = join(home, 'reins-plugin');
  await rm(plugin, { recursive: true, force: true });
  if (skillFolders.length === 0) return null;
  const manifest = { name: 'reins', version: '1.0.0', description: 'Skills of this agent.' };
  await mkdir(join(plugin, '.claude-plugin'), { recursive: true, mode: 0o700 });
  await writePrivate(join(plugin, '.claude-plugin', 'plugin.json'), manifest);
  await placeSkills(skillFolders, join(plugin, 'skills'));
  return plugin;
}
