import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { McpServer } from '../../src/engine/mcp/mcp-server.ts';

/** An MCP server `clock` whose one tool `tell` gives its process id, after these words. Its file goes into the folder. */
export function clockServer(folder: string, words = ''): McpServer {
  const file = join(folder, 'clock-server.mjs');
  writeFileSync(file, sourceOf(words));
  return { transport: 'stdio', name: 'clock', command: process.execPath, args: [file] };
}

const sourceOf = (words: string) => `
import { McpServer } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/mcp.js'))};
import { StdioServerTransport } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/stdio.js'))};
const server = new McpServer({ name: 'clock', version: '1' });
server.registerTool('tell', { description: 'Tells.' }, () => ({ content: [{ type: 'text', text: ${JSON.stringify(words)} + process.pid }] }));
await server.connect(new StdioServerTransport());
`;
