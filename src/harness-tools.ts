// What a harness brings to its runs beside the tools that all have: MCP servers, skills, plugins (UP-37, UP-50 to UP-53, U-123).
//
// T1. Nothing is opened before a run asks for its tools, and only what its log says it was admitted with (UD-35).
// T2. Connections belong to one session and one configuration. They outlive a turn by a minute, so that the next one finds them.
// T3. Files of skills and plugins lie in `bundles/<hash>`: each folder appears whole or not at all, and is never changed.
// T4. Programs of plugins run as the shell tool does: in its sandbox, or, where the operator has chosen the host, there. Where
//     commands are only interpreted, they are missing, and named so.
// T5. Secrets are asked for when a connection is made, and stand in no log (UD-37).

import { bubblewrapArguments } from './engine/shell/bubblewrap.ts';
import { createHash } from 'node:crypto';
import { credentialPaths } from './engine/shell/credential-paths.ts';
import { dirname, join } from 'node:path';
import { findProgram } from './process/find-program.ts';
import { homedir } from 'node:os';
import { lazyTools } from './engine/lazy-tools.ts';
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { openMcp } from './engine/mcp/open-mcp.ts';
import { openSkills } from './engine/skills/open-skills.ts';
import { readSecret } from './tasks/read-secret.ts';
import { StorageError } from './core/errors.ts';
import type { BundleFile, Store } from './stores/store.ts';
import type { HarnessExtensions, HarnessMcpServer, HarnessPlugin, PluginServer } from './core/run-event.ts';
import type { HarnessId, SessionId } from './core/ids.ts';
import type { HarnessTools } from './harnesses/native/native-adapter.ts';
import type { McpDeps } from './engine/mcp/connect-server.ts';
import type { McpServer } from './engine/mcp/mcp-server.ts';
import type { Shell, ShellNetwork } from './engine/shell/shell.ts';
import type { ToolListing, ToolSource } from './engine/tool.ts';

export interface HarnessToolsOptions extends McpDeps {
  readonly store: Store;
  readonly dataDir: string;
  /** Folders with skills of the server's own. */
  readonly skills: readonly string[];
  readonly shell: () => Promise<Shell | null>;
  readonly network: ShellNetwork;
}

const idleForMs = 60_000;

/** Of one session with one configuration. */
interface Opened {
  readonly sources: readonly ToolSource[];
  users: number;
  cancelClose: () => void;
}

export function createHarnessTools(options: HarnessToolsOptions): HarnessTools & AsyncDisposable {
  const { clock, logger } = options;
  const open = new Map<string, Opened>();
  const closing = new Set<Promise<unknown>>();
  const shared = skillSource(options, { named: async () => [], suppressed: [] });

  function close(key: string, { sources }: Opened): void {
    open.delete(key);
    const closed = Promise.allSettled(sources.map((source) => source[Symbol.asyncDispose]()));
    closing.add(closed);
    void closed.then(() => closing.delete(closed));
  }

  return {
    open({ sessionId, config, task }, workspace) {
      const extensions = config?.extensions;
      if (extensions === undefined || task === null) return { sources: [shared], async [Symbol.asyncDispose]() {} };
      const key = JSON.stringify([sessionId, task.harnessId, extensions]);
      const known = open.get(key);
      const found = known ?? {
        sources: openExtensions(options, { sessionId, harnessId: task.harnessId, workspace, extensions }),
        users: 0,
        cancelClose: () => {},
      };
      open.set(key, found);
      found.cancelClose();
      found.users += 1;
      return {
        sources: found.sources,
        async [Symbol.asyncDispose]() {
          found.users -= 1;
          if (found.users === 0 && open.has(key)) found.cancelClose = clock.timer(idleForMs, () => close(key, found));
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const [key, each] of open) {
        each.cancelClose();
        close(key, each);
      }
      await Promise.allSettled(closing);
      if (closing.size > 0) logger.warn('Tools of harnesses did not close in order.');
    },
  };
}

interface ExtendedSession {
  readonly sessionId: SessionId;
  readonly harnessId: HarnessId;
  readonly workspace: string;
  readonly extensions: HarnessExtensions;
}

function openExtensions(options: HarnessToolsOptions, session: ExtendedSession): readonly ToolSource[] {
  const { extensions } = session;
  const { plugins, suppressedSkills: suppressed } = extensions;
  const named = async () => {
    const own = extensions.skills.map(async ({ name, bundle }) => ({
      name,
      folder: await placeBundle(options, session.harnessId, bundle),
    }));
    const theirs = plugins.flatMap(({ bundle, skills }) =>
      skills.map(async (name) => ({
        name,
        folder: join(await placeBundle(options, session.harnessId, bundle), 'skills', name),
      })),
    );
    return Promise.all([...own, ...theirs]);
  };
  const servers = extensions.mcpServers.length + plugins.reduce((sum, plugin) => sum + plugin.mcpServers.length, 0);
  return [
    skillSource(options, { named, suppressed }),
    ...(servers === 0 ? [] : [openedLater(() => openServers(options, session))]),
  ];
}

function skillSource(
  { skills, logger }: HarnessToolsOptions,
  more: {
    readonly named: () => Promise<readonly { readonly name: string; readonly folder: string }[]>;
    readonly suppressed: readonly string[];
  },
): ToolSource {
  const open = async () => {
    const { suppressed } = more;
    const { prompt, tools } = await openSkills(skills, { logger, named: await more.named(), suppressed });
    return { tools, ...(prompt === '' ? {} : { guidance: prompt }) };
  };
  return lazyTools('skills', { open, logger });
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
      await (await opening?.catch(() => null))?.[Symbol.asyncDispose]();
    },
  };
}

/** All MCP servers of a harness as one source; those that cannot run here are missing, and named (U-112, UP-53). */
async function openServers(options: HarnessToolsOptions, session: ExtendedSession): Promise<ToolSource> {
  const { extensions } = session;
  const direct = extensions.mcpServers.map((server) => remoteServer(options, session, server));
  const ofPlugins = extensions.plugins.flatMap((plugin) =>
    plugin.mcpServers.map((server) => pluginServer(options, session, { plugin, server })),
  );
  const found = await Promise.allSettled([...direct, ...ofPlugins]);
  const servers = found.flatMap((each) =>
    each.status === 'fulfilled' && typeof each.value !== 'string' ? [each.value] : [],
  );
  const names = [...extensions.mcpServers, ...extensions.plugins.flatMap((plugin) => plugin.mcpServers)].map(
    ({ name }) => name,
  );
  const missing = names.filter((name) => !servers.some((server) => server.name === name));
  for (const each of found)
    if (each.status === 'rejected') options.logger.error('An MCP server of a harness cannot be used.', {}, each.reason);
  const source = openMcp(servers, options);
  return {
    ...source,
    list: async () => withMissing(await source.list(), missing),
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
}

function withMissing(listing: ToolListing, missing: readonly string[]): ToolListing {
  return { ...listing, degraded: [...listing.degraded, ...missing.map((name) => `mcp:${name}`)] };
}

/** What a harness is configured with is allowed by that (UR-02). */
async function remoteServer(
  { store }: HarnessToolsOptions,
  { harnessId }: ExtendedSession,
  { name, url, transport, secretHeaders }: HarnessMcpServer,
): Promise<McpServer> {
  const headers: Record<string, string> = {};
  for (const [header, handle] of Object.entries(secretHeaders)) {
    const value = await readSecret({ store }, harnessId, handle);
    if (value !== null) headers[header] = value;
  }
  return { name, url, transport, headers, permission: 'allow' };
}

interface OwnedServer {
  readonly plugin: HarnessPlugin;
  readonly server: PluginServer;
}

/** A word where it cannot run here. */
async function pluginServer(
  options: HarnessToolsOptions,
  session: ExtendedSession,
  { plugin, server }: OwnedServer,
): Promise<McpServer | 'no-sandbox'> {
  if (server.transport !== 'stdio') return { ...server, permission: 'allow' };
  const root = await placeBundle(options, session.harnessId, plugin.bundle);
  const data = join(options.dataDir, 'plugin-data', session.sessionId, plugin.name);
  await mkdir(data, { recursive: true, mode: 0o700 });
  const expand = (text: string) =>
    text.replaceAll(/\$\{PLUGIN_(ROOT|DATA)\}/g, (_, which) => (which === 'ROOT' ? root : data));
  const cwd = server.cwd === undefined ? root : expand(server.cwd).replace(/^\.(?=\/|$)/, root);
  const program = server.command.startsWith('./') ? join(root, server.command) : server.command;
  const env = {
    ...Object.fromEntries(Object.entries(server.env).map(([name, value]) => [name, expand(value)])),
    PLUGIN_ROOT: root,
    PLUGIN_DATA: data,
  };
  const command = [program, ...server.args.map(expand)];
  const shell = await options.shell();
  const common = { name: server.name, transport: 'stdio', permission: 'allow', env } as const;
  if (shell?.kind === 'host') return { ...common, command: program, args: command.slice(1), cwd };
  const bubblewrap = findProgram('bwrap', options.environment['PATH']);
  if (shell?.kind !== 'sandboxed' || bubblewrap === null) return 'no-sandbox';
  const hidden = [options.dataDir, ...credentialPaths(options.environment['HOME'] ?? homedir())];
  const shown = { readOnly: [root], writable: [data] };
  const sandbox = bubblewrapArguments({ workspace: session.workspace, hidden, network: options.network, shown });
  return {
    ...common,
    command: bubblewrap,
    args: [...sandbox, '--chdir', cwd, '--', ...command],
    cwd: session.workspace,
  };
}

/** The folder of a bundle, absolute; made on first use. */
async function placeBundle(
  { store, dataDir, random }: HarnessToolsOptions,
  harnessId: HarnessId,
  ref: string,
): Promise<string> {
  const folder = join(dataDir, 'bundles', createHash('sha256').update(ref).digest('hex').slice(0, 40));
  if (
    await stat(folder).then(
      () => true,
      () => false,
    )
  )
    return folder;
  const harness = await store.harness(harnessId);
  const bundle = harness === null ? null : await store.bundle(harness.principal, ref);
  if (bundle === null) throw new StorageError('The files of a skill or plugin are gone.');
  const temporary = `${folder}.new-${random.token()}`;
  try {
    for (const file of bundle.files) await placeFile(temporary, file);
    await rename(temporary, folder);
  } catch (cause) {
    // Another run was quicker.
    if (
      !(await stat(folder).then(
        () => true,
        () => false,
      ))
    )
      throw cause;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return folder;
}

async function placeFile(folder: string, file: BundleFile): Promise<void> {
  const path = join(folder, file.path);
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const bytes = 'content' in file ? file.content : Buffer.from(file.content_b64, 'base64');
  // A program of the package can be started; nothing in it can be written.
  await writeFile(path, bytes, { mode: 0o555 });
}
