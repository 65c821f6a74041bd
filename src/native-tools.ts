import { createBashTool } from './engine/tools/bash.ts';
import { createFetchUrl } from './engine/tools/fetch-url.ts';
import { fileTools } from './engine/tools/file-tools.ts';
import { hostEnvironment, type Config } from './config.ts';
import { lazyTools } from './engine/lazy-tools.ts';
import { openMcp } from './engine/mcp/open-mcp.ts';
import { openShell } from './open-shell.ts';
import { workspaceRoot } from './open-agent-turns.ts';
import { packageVersion } from './version.ts';
import type { Clock } from './core/clock.ts';
import type { Logger } from './core/logger.ts';
import type { McpServer } from './engine/mcp/mcp-server.ts';
import type { Shell } from './engine/shell/shell.ts';
import type { Random } from './core/random.ts';
import type { Tool, ToolSource } from './engine/tool.ts';

/** The tools of the harness `native`, by the settings (E-570). */
export interface NativeTools extends AsyncDisposable {
  /** What runs commands; null: nothing does, or it cannot be had here. */
  shell(): Promise<Shell | null>;
  readonly tools: readonly Tool[];
  readonly sources: readonly ToolSource[];
}

/** @param cwd  Absolute path of the folder for MCP servers that name none. Nothing is opened before it is asked for. */
export function nativeTools(
  { agent, server }: Config,
  { cwd, ...parts }: { readonly clock: Clock; readonly random: Random; readonly logger: Logger; readonly cwd: string },
): NativeTools {
  const { logger } = parts;
  const { shell, fetchHosts, mcp } = agent;
  let opening: Promise<Shell | null> | null = null;
  const shellOnce = () =>
    (opening ??= openShell({ ...shell, hidden: [server.dataDir, workspaceRoot({ agent, server })] }, parts));
  const bash = async () => {
    const opened = await shellOnce();
    return { tools: opened === null ? [] : [createBashTool(opened)] };
  };
  const mcpParts = { ...parts, version: packageVersion(), environment: hostEnvironment(), cwd };
  const sources = [
    lazyTools('shell', { open: bash, logger }),
    ...(mcp.length === 0 ? [] : [openMcp(mcp.map(allowed), mcpParts)]),
  ];
  return {
    tools: [...fileTools, createFetchUrl({ allowHosts: fetchHosts })],
    sources,
    shell: () => shellOnce().catch(() => null),
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(sources.map((source) => source[Symbol.asyncDispose]()));
    },
  };
}

/** A server that the operator names may be used without asking, unless the settings say otherwise (UR-02). */
function allowed(server: McpServer): McpServer {
  return { permission: 'allow', ...server };
}
