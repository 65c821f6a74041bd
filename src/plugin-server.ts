import { credentialPaths } from './engine/shell/credential-paths.ts';
import { findProgram } from './process/find-program.ts';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { mkdir, realpath } from 'node:fs/promises';
import { sandboxProgram } from './engine/shell/sandbox-program.ts';
import type { Environment } from './process/child-environment.ts';
import type { PluginServer } from './core/run-config.ts';
import type { Shell, ShellNetwork } from './engine/shell/shell.ts';
import type { StdioServer } from './engine/mcp/mcp-server.ts';

export interface PluginHost {
  readonly dataDir: string;
  /** Further folders that no program of a plugin may see. */
  readonly hidden?: readonly string[];
  /** Ours: where programs and the home are found. */
  readonly environment: Environment;
  readonly shell: () => Promise<Shell | null>;
  readonly network: ShellNetwork;
}

export interface PluginPlace {
  /** Of the package; absolute, without links. */
  readonly root: string;
  /** What its programs keep for this session (UP-52); made here. */
  readonly data: string;
  readonly workspace: string;
}

/** A program of a plugin as it is started here; null: it cannot be, as nothing would keep it inside (UP-50). */
export async function pluginServer(
  host: PluginHost,
  server: Extract<PluginServer, { transport: 'stdio' }>,
  place: PluginPlace,
): Promise<StdioServer | null> {
  await mkdir(place.data, { recursive: true, mode: 0o700 });
  const data = await realpath(place.data);
  const program = expandProgram(server, { root: place.root, data });
  const common = { name: server.name, transport: 'stdio', permission: 'allow' } as const;
  const shell = await host.shell();
  switch (shell?.kind) {
    case 'host':
      return { ...common, ...program };
    case 'sandboxed': {
      const bubblewrap = findProgram('bwrap', host.environment['PATH']);
      if (bubblewrap === null) return null;
      const { dataDir, network, environment } = host;
      const hidden = [dataDir, ...(host.hidden ?? []), ...credentialPaths(environment['HOME'] ?? homedir())];
      const shown = { readOnly: [place.root], writable: [data] };
      const { workspace } = place;
      return { ...common, ...sandboxProgram({ ...program, bubblewrap, workspace, hidden, network, shown }) };
    }
    case 'interpreted':
    case undefined:
      return null;
  }
}

/** One pass, in `args`, values of `env` and `cwd` alone (UP-51). */
function expandProgram(
  { command, args, env, cwd = '.' }: Extract<PluginServer, { transport: 'stdio' }>,
  { root, data }: { readonly root: string; readonly data: string },
): Required<Pick<StdioServer, 'command' | 'args' | 'env' | 'cwd'>> {
  const expand = (text: string) =>
    text.replaceAll(/\$\{PLUGIN_(ROOT|DATA)\}/g, (_, which) => (which === 'ROOT' ? root : data));
  return {
    command: command.startsWith('./') ? join(root, command) : command,
    args: args.map(expand),
    cwd: cwd === '.' || cwd.startsWith('./') ? join(root, cwd) : expand(cwd),
    env: {
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, expand(value)])),
      PLUGIN_ROOT: root,
      PLUGIN_DATA: data,
    },
  };
}
