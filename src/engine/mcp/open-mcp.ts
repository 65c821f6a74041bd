// The tools of all configured MCP servers as one source. Connections are made by the first `list()`, to all servers at once.
//
// M1. A tool is pinned to what it was when its name was first offered. While its server, description or schema differ from
//     that, it asks, whatever the server's own permission is; a denied one stays denied (E-903). The pin is this process's:
//     what is stored, approvals and rules, is bound to `identity`.
// M2. The tools of a server that cannot be used are missing, and the server is named in `degraded`; a disabled one is neither.
// M3. While nothing has changed, `list()` gives the very same array.

import { hash } from 'node:crypto';
import { ConfigurationError, TransientToolError } from '../../core/errors.ts';
import { head, toWellFormed } from '../../core/text.ts';
import type { PermissionLevel, Tool, ToolOutput, ToolSource } from '../tool.ts';
import { McpCallError } from './mcp-call-error.ts';
import { McpLink } from './mcp-link.ts';
import type { McpDeps } from './connect-server.ts';
import type { McpServer } from './mcp-server.ts';
import { identifier, offeredName } from './offered-name.ts';
import type { RemoteTool } from './remote-tool.ts';
import { isRateLimit } from './rate-limit.ts';
import { toolOutputFrom } from './tool-output-from.ts';

const maxDescriptionUnits = 8000;

/** @throws ConfigurationError  Two servers of one name, or an address that is none. */
export function openMcp(servers: readonly McpServer[], deps: McpDeps): ToolSource {
  checkServers(servers);
  const links = servers.filter(({ disabled }) => disabled !== true).map((server) => new McpLink(server, deps));
  const pins = new Map<string, string>();
  let known: { readonly listings: readonly (readonly RemoteTool[] | null)[]; readonly tools: readonly Tool[] } = {
    listings: [],
    tools: [],
  };
  return {
    async list() {
      const listings = await Promise.all(links.map((link) => link.tools()));
      const isSame = listings.every((listing, index) => listing === known.listings[index]);
      if (!isSame) known = { listings, tools: offer(links, listings, pins) };
      const missing = links.filter((_, index) => listings[index] === null);
      return { tools: known.tools, degraded: missing.map(({ server }) => `mcp:${server.name}`) };
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled(links.map((link) => link[Symbol.asyncDispose]()));
    },
  };
}

function checkServers(servers: readonly McpServer[]): void {
  const names = new Set<string>();
  for (const server of servers) {
    const name = identifier(server.name);
    if (name === '') throw new ConfigurationError('An MCP server has no name.');
    if (names.has(name)) throw new ConfigurationError(`Two MCP servers have the name '${name}'.`);
    names.add(name);
    if (server.transport !== 'stdio' && !/^https?:$/.test(URL.parse(server.url)?.protocol ?? ''))
      throw new ConfigurationError(`The address of the MCP server '${name}' is no http or https URL.`);
  }
}

function offer(
  links: readonly McpLink[],
  listings: readonly (readonly RemoteTool[] | null)[],
  pins: Map<string, string>,
): readonly Tool[] {
  const tools = new Map<string, Tool>();
  for (const [index, link] of links.entries()) {
    const { server } = link;
    const unlisted = new Set(listings[index]?.map(({ name }) => name));
    for (const remote of listings[index] ?? []) {
      // Of a tool that is listed twice the first is meant.
      if (!unlisted.delete(remote.name) || server.tools?.includes(remote.name) === false) continue;
      const name = offeredName(server.name, remote.name, tools);
      const identity = hash('sha256', JSON.stringify([server.name, remote.name, remote.identity]));
      const pinned = pins.get(name) ?? identity;
      pins.set(name, pinned);
      tools.set(name, toolOf(link, remote, { name, identity, isChanged: pinned !== identity }));
    }
  }
  return [...tools.values()];
}

function toolOf(
  link: McpLink,
  remote: RemoteTool,
  { name, identity, isChanged }: { readonly name: string; readonly identity: string; readonly isChanged: boolean },
): Tool {
  const { permission = 'ask', replay = 'manual', timeoutSeconds } = link.server;
  return {
    name,
    description: head(toWellFormed(remote.description), maxDescriptionUnits),
    inputSchema: remote.inputSchema,
    identity,
    permission: permissionOf(permission, isChanged),
    replay,
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    run: (input, { signal }) => run(() => link.call(remote.name, input, signal)),
  };
}

function permissionOf(configured: PermissionLevel, isChanged: boolean): PermissionLevel {
  return isChanged && configured === 'allow' ? 'ask' : configured;
}

async function run(call: () => ReturnType<McpLink['call']>): Promise<ToolOutput> {
  try {
    const output = toolOutputFrom(await call());
    if (isRateLimit(output)) throw new TransientToolError(output.content);
    return output;
  } catch (error) {
    if (!(error instanceof McpCallError)) throw error;
    if (error.how === 'refused') return { content: error.message, isError: true };
    throw new TransientToolError(error.message, { cause: error });
  }
}
