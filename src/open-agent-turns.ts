import { createPrincipalFolders } from './files/principal-folders.ts';
import { isShortSecret } from './core/redact.ts';
import { join } from 'node:path';
import { namedSecrets, secretsOf, type Config } from './config.ts';
import { parseCwd } from './core/agent-cwd.ts';
import { parseEffort } from './core/reasoning-effort.ts';
import type { AgentTurns } from './tasks/services.ts';
import type { Logger } from './core/logger.ts';

/** What `POST /api/agent` works with, by the settings. What of them cannot be is ignored, and named once, here. */
export function openAgentTurns(config: Config, logger: Logger): AgentTurns {
  const { agent } = config;
  const off = new Set(agent.workspaceOff);
  for (const { name, value } of namedSecrets(config))
    if (isShortSecret(value)) logger.warn('A secret is too short to be kept out of answers.', { setting: name });
  return {
    folders: createPrincipalFolders(workspaceRoot(config)),
    hasFolder: (principal) => !off.has('*') && !off.has(principal),
    defaultCwd: defaultCwd(config, logger),
    reasoning: reasoningOf(config, logger),
    secrets: secretsOf(config),
    hasOtherTools: agent.mcp.some(({ disabled }) => disabled !== true),
  };
}

/** Holds the folders of all principals: no agent sees more of it than its own. */
export function workspaceRoot({ agent, server }: Pick<Config, 'agent' | 'server'>): string {
  return agent.workspace ?? join(server.dataDir, 'principals');
}

function defaultCwd({ agent }: Config, logger: Logger): string {
  const parsed = agent.defaultCwd === null ? null : parseCwd(agent.defaultCwd);
  if (parsed?.ok === false) logger.warn('The setting agent.defaultCwd is ignored.', { why: parsed.why });
  return parsed?.ok === true ? parsed.cwd : '.';
}

function reasoningOf({ agent }: Config, logger: Logger): AgentTurns['reasoning'] {
  const effort = agent.reasoning === null ? null : parseEffort(agent.reasoning);
  if (effort === undefined)
    logger.warn('The setting agent.reasoning is ignored: it is no effort.', { value: agent.reasoning });
  return effort ?? null;
}
