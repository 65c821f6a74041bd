// What a harness brings to its runs beside the tools that all have: MCP servers, skills, plugins (UP-37, UP-50 to UP-53, U-123).
//
// T1. Nothing is opened before a run asks for its tools, and only what its log says it was admitted with (UD-35).
// T2. Connections belong to one session and one configuration. They outlive a turn by a minute, so that the next one finds
//     them, and end with their session; another configuration of that session starts no server before they are gone (B145).
// T3. Files of skills and plugins are read-only; the shell tool finds them, too, where it is a sandbox (U-123).
// T4. Programs of plugins run as the shell tool does: in its sandbox, or, where the operator has chosen the host, there. Where
//     commands are only interpreted, they are missing, and named so.
// T5. Secrets are asked for when a connection is made, and stand in no log (UD-37).
// T6. What cannot be had takes nothing from the rest, and fails no run (UP-53).
// T7. A server is connected to where it may lie, and nowhere else: whoever may make a harness is not let into the network of
//     this machine by that (UR-52).

import { createBashTool } from './engine/tools/bash.ts';
import { join } from 'node:path';
import { lazyTools } from './engine/lazy-tools.ts';
import { openMcp } from './engine/mcp/open-mcp.ts';
import { openSkills, type NamedSkill } from './engine/skills/open-skills.ts';
import { placeBundle } from './place-bundle.ts';
import { pluginServer } from './plugin-server.ts';
import { readSecret } from './tasks/read-secret.ts';
import type { HarnessExtensions, HarnessMcpServer, HarnessPlugin, PluginServer } from './core/run-config.ts';
import type { HarnessId, SessionId } from './core/ids.ts';
import type { HarnessTools } from './harnesses/native/native-adapter.ts';
import type { HostRules } from './net/public-host.ts';
import type { McpDeps } from './engine/mcp/connect-server.ts';
import type { McpServer } from './engine/mcp/mcp-server.ts';
import type { Shell, ShellNetwork } from './engine/shell/shell.ts';
import type { Store } from './stores/store.ts';
import type { ToolSource } from './engine/tool.ts';

export interface HarnessToolsOptions extends McpDeps {
  readonly store: Store;
  readonly dataDir: string;
  /** Further folders that no program of a plugin may see. */
  readonly hidden?: readonly string[];
  /** Folders with skills of the server's own. */
  readonly skills: readonly string[];
  readonly shell: () => Promise<Shell | null>;
  readonly network: ShellNetwork;
  /** Where servers that harnesses and plugins name may lie. */
  readonly reach: HostRules;
}

const idleForMs = 60_000;

/** Of one session with one configuration. */
interface Opened {
  readonly sessionId: SessionId;
  readonly key: string;
  readonly sources: readonly ToolSource[];
  users: number;
  cancelClose: () => void;
}

export function createHarnessTools(options: HarnessToolsOptions): HarnessTools & AsyncDisposable {
  const all = new Set<Opened>();
  const newest = new Map<SessionId, Opened>();
  const closing = new Map<SessionId, Promise<unknown>>();
  const shared = skillSource(options, { named: async () => [], suppressed: [] });

  function close(opened: Opened): void {
    const { sessionId, sources } = opened;
    opened.cancelClose();
    all.delete(opened);
    if (newest.get(sessionId) === opened) newest.delete(sessionId);
    const disposed = sources.map((source) => source[Symbol.asyncDispose]());
    const closed = Promise.allSettled([closing.get(sessionId), ...disposed]);
    closing.set(sessionId, closed);
    void closed.then(() => closing.get(sessionId) === closed && closing.delete(sessionId));
  }

  function take(session: ExtendedSession): Opened {
    const { sessionId, harnessId, extensions } = session;
    const key = JSON.stringify([harnessId, extensions]);
    const known = newest.get(sessionId);
    if (known?.key === key) return known;
    if (known?.users === 0) close(known);
    const sources = openExtensions(options, { ...session, predecessors: closing.get(sessionId) });
    const opened = { sessionId, key, sources, users: 0, cancelClose() {} };
    all.add(opened);
    newest.set(sessionId, opened);
    return opened;
  }

  function release(opened: Opened): void {
    opened.users -= 1;
    if (opened.users > 0 || !all.has(opened)) return;
    if (newest.get(opened.sessionId) !== opened) close(opened);
    else opened.cancelClose = options.clock.timer(idleForMs, () => close(opened));
  }

  return {
    open({ sessionId, config, task }, workspace) {
      const extensions = config?.extensions;
      if (extensions === undefined || task === null) return { sources: [shared], async [Symbol.asyncDispose]() {} };
      const opened = take({ sessionId, harnessId: task.harnessId, workspace, extensions });
      opened.cancelClose();
      opened.users += 1;
      return { sources: opened.sources, [Symbol.asyncDispose]: async () => release(opened) };
    },
    async forgetSession(sessionId) {
      for (const opened of all) if (opened.sessionId === sessionId) close(opened);
      await closing.get(sessionId);
    },
    async [Symbol.asyncDispose]() {
      for (const opened of all) close(opened);
      await Promise.all(closing.values());
    },
  };
}

interface ExtendedSession {
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly workspace: string;
  readonly extensions: HarnessExtensions;
  /** What must be gone before a server is started. */
  readonly predecessors?: Promise<unknown> | undefined;
}

/** Of two tools with one name the later is meant: those of a harness go before the server's own. */
function openExtensions(options: HarnessToolsOptions, session: ExtendedSession): readonly ToolSource[] {
  const { skills, plugins, mcpServers, suppressedSkills } = session.extensions;
  const place = (bundle: string) => placeBundle(options, session.harnessId, bundle);
  const named = async () => {
    const kind = (await options.shell())?.kind;
    const isShown = kind === 'sandboxed' || kind === 'host';
    const own = skills.map(async ({ name, bundle }) => ({ name, isShown, folder: await place(bundle) }));
    const theirs = plugins.flatMap(({ bundle, skills: names }) =>
      names.map(async (name) => ({ name, isShown, folder: join(await place(bundle), 'skills', name) })),
    );
    return available(options, [...own, ...theirs]);
  };
  const bundles = [...new Set([...skills, ...plugins].map(({ bundle }) => bundle))];
  const servers = [...mcpServers, ...plugins.flatMap((plugin) => plugin.mcpServers)].map(({ name }) => name);
  return [
    skillSource(options, { named, suppressed: suppressedSkills }),
    ...(bundles.length === 0 ? [] : [shellSource(options, () => available(options, bundles.map(place)))]),
    ...(servers.length === 0 ? [] : [openedLater(() => openServers(options, session, servers))]),
  ];
}

/** Those that can be had; why the others cannot is logged. */
export async function available<T>(
  { logger }: HarnessToolsOptions,
  wanted: readonly Promise<T>[],
): Promise<readonly T[]> {
  const found = await Promise.allSettled(wanted);
  return found.flatMap((each) => {
    if (each.status === 'fulfilled') return [each.value];
    logger.error('What a harness is configured with cannot be used.', {}, each.reason);
    return [];
  });
}

function skillSource(
  { skills, logger }: HarnessToolsOptions,
  more: { readonly named: () => Promise<readonly NamedSkill[]>; readonly suppressed: readonly string[] },
): ToolSource {
  const open = async () => {
    const { suppressed } = more;
    const { prompt, tools } = await openSkills(skills, { logger, named: await more.named(), suppressed });
    return { tools, ...(prompt === '' ? {} : { guidance: prompt }) };
  };
  return lazyTools('skills', { open, logger });
}

/** The shell tool again, with these folders in its sandbox; nothing where there is no sandbox that hides them. */
function shellSource(options: HarnessToolsOptions, folders: () => Promise<readonly string[]>): ToolSource {
  const open = async () => {
    const shell = await options.shell();
    if (shell?.kind !== 'sandboxed') return { tools: [] };
    const readOnly = await folders();
    return { tools: [createBashTool({ ...shell, run: (command, run) => shell.run(command, { ...run, readOnly }) })] };
  };
  return lazyTools('shell', { open, logger: options.logger });
}

/** A source that is made when it is first asked. */
function openedLater(open: () => Promise<ToolSource>): ToolSource {
  let opening: Promise<ToolSource> | null = null;
  return {
    async list() {
      opening ??= open();
      return (await opening).list();
    },
    async [Symbol.asyncDispose]() {
      await (await opening)?.[Symbol.asyncDispose]();
    },
  };
}

/** All MCP servers of a harness as one source; those that cannot run here are missing, and named (U-112, UP-53). */
async function openServers(
  options: HarnessToolsOptions,
  session: ExtendedSession,
  names: readonly string[],
): Promise<ToolSource> {
  const { mcpServers, plugins } = session.extensions;
  await session.predecessors;
  const found = await available(options, [
    ...mcpServers.map((server) => remoteServer(options, session, server)),
    ...plugins.flatMap((plugin) =>
      plugin.mcpServers.map((server) => serverOfPlugin(options, session, { plugin, server })),
    ),
  ]);
  const servers = found.filter((server) => server !== null);
  const missing = names.filter((name) => !servers.some((server) => server.name === name));
  const source = openMcp(servers, options);
  return {
    async list() {
      const { degraded, ...listing } = await source.list();
      return { ...listing, degraded: [...degraded, ...missing.map((name) => `mcp:${name}`)] };
    },
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

/** What a harness is configured with is allowed by that (UR-02). */
export async function remoteServer(
  { store, reach }: HarnessToolsOptions,
  { harnessId }: ExtendedSession,
  { name, url, transport, secretHeaders }: HarnessMcpServer,
): Promise<McpServer> {
  const headers: Record<string, string> = {};
  for (const [header, handle] of Object.entries(secretHeaders)) {
    const value = await readSecret({ store }, harnessId, handle);
    if (value !== null) headers[header] = value;
  }
  return { name, url, transport, headers, reach, permission: 'allow' };
}

interface OwnedServer {
  readonly plugin: HarnessPlugin;
  readonly server: PluginServer;
}

export async function serverOfPlugin(
  options: HarnessToolsOptions,
  { harnessId, sessionId, workspace }: ExtendedSession,
  { plugin, server }: OwnedServer,
): Promise<McpServer | null> {
  if (server.transport !== 'stdio') return { ...server, reach: options.reach, permission: 'allow' };
  const root = await placeBundle(options, harnessId, plugin.bundle);
  const data = join(options.dataDir, 'plugin-data', sessionId, plugin.name);
  return pluginServer(options, server, { root, data, workspace });
}
