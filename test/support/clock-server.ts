import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { McpServer } from '../../src/engine/mcp/mcp-server.ts';

/** An MCP server `clock` whose one tool `tell` gives its process id. Its file goes into the folder. */
export function clockServer(folder: string): McpServer {
  const file = join(folder, 'clock-server.mjs');
  writeFileSync(file, source);
  return { transport: 'stdio', name: 'clock', command: process.execPath, args: [file] };
}

const source = `
import { McpServer } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/mcp.js'))};
import { StdioServerTransport } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/stdio.js'))};
const server = new McpServer({ name: 'clock', version: '1' });
server.registerTool('tell', { description: 'Tells.' }, () => ({ content: [{ type: 'text', text: String(process.pid) }] }));
await server.connect(new StdioServerTransport());
`;
