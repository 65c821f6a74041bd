// A harness's own servers and skills as a package that installs into another one (UP-40 to UP-42, UD-76).

import { pluginSchemas, pluginServersSchema } from '../core/plugin-schema.ts';
import { readPlugin, type PluginPackage, type Skipped } from './read-plugin.ts';
import { serverPath } from './plugin-servers.ts';
import type { BundleFile } from '../stores/harness-record.ts';

export interface ExportedParts {
  readonly harnessId: string;
  readonly harnessName: string;
  readonly mcpServers: readonly {
    readonly name: string;
    readonly url: string;
    readonly transport: 'http' | 'sse';
    /** Whether headers or a token stay behind. */
    readonly hasSecrets: boolean;
  }[];
  readonly skills: readonly { readonly name: string; readonly files: readonly BundleFile[] }[];
}

/** What a reader of the package will make of it, with what was left out of it. */
export function exportPlugin(parts: ExportedParts): PluginPackage & { readonly files: readonly BundleFile[] } {
  const { harnessId, harnessName, mcpServers, skills } = parts;
  const name = packageName(harnessName) || packageName(harnessId);
  const servers = mcpServers.map(({ name: server, url, transport }) => {
    const type = transport === 'http' ? 'streamable-http' : transport;
    return [server, { type, url }] as const;
  });
  const files: BundleFile[] = [
    { path: 'plugin.json', content: textOf({ $schema: pluginSchemas[0], name }) },
    ...(servers.length === 0
      ? []
      : [
          {
            path: 'mcp.json',
            content: textOf({ $schema: pluginServersSchema, mcpServers: Object.fromEntries(servers) }),
          },
        ]),
    ...skills.flatMap((skill) => skill.files.map((file) => ({ ...file, path: `skills/${skill.name}/${file.path}` }))),
  ];
  const omitted = mcpServers
    .filter(({ hasSecrets }) => hasSecrets)
    .map((server): Skipped => ({ path: serverPath(server.name), reason: 'Its headers and auth are left out.' }));
  const read = readPlugin(files);
  return { ...read, skipped: [...read.skipped, ...omitted], files };
}

/** '' where nothing is left. */
function packageName(text: string): string {
  const trim = (name: string) => name.replaceAll(/^[.-]+|[.-]+$/g, '');
  const plain = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/\.{2,}/g, '.');
  return trim(trim(plain).slice(0, 64));
}

function textOf(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
