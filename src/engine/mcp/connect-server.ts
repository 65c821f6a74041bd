// One living connection to an MCP server: the only file that speaks to the SDK's client.
//
// N1. The SDK's own time limits are off: who asks brings a signal. An aborted call is told to the server and settles at once.
// N2. A connection that cannot be made leaves no process and no socket when the promise has settled (B145).
// N3. An error on a remote connection is followed by a ping. Where that fails, the connection is closed, which ends its
//     calls; a ping that only waits proves nothing, as some servers answer nothing while they work.
// N4. What a server sends is not held to the schemas of the SDK: one tool with a fault must not hide the others.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { isJsonObject, toJsonValue, type JsonObject, type JsonValue } from '../../core/json.ts';
import { failureOf } from './failure-of.ts';
import { McpCallError } from './mcp-call-error.ts';
import { openTransport, type OpenedTransport } from './open-transport.ts';
import { readRemoteTool, type RemoteTool } from './remote-tool.ts';
import type { StdioDeps } from './stdio-transport.ts';
import { timeLimit } from './time-limit.ts';
import type { McpServer } from './mcp-server.ts';

export interface Connection {
  /** Resolves when it has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** How often the server has said that its tools are others now. */
  changes(): number;
  listTools(signal: AbortSignal): Promise<readonly RemoteTool[]>;
  /** The result as the server gave it. @throws McpCallError, or the signal's reason. */
  callTool(name: string, input: JsonValue, signal: AbortSignal): Promise<JsonObject>;
  /** Takes leave; settles when the process or the sockets are gone. */
  close(): Promise<void>;
  kill(): Promise<void>;
}

export interface McpDeps extends StdioDeps {
  /** Of this package, named to the servers. */
  readonly version: string;
}

export interface ConnectOptions extends McpDeps {
  readonly signal: AbortSignal;
}

const longestTimerMs = 2_147_483_647;
const pingMs = 15_000;
const maxPages = 100;

export async function connectServer(server: McpServer, options: ConnectOptions): Promise<Connection> {
  const [sdk, { McpError, ResultSchema, ToolListChangedNotificationSchema }] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  const opened = await openTransport(server, options);
  const client = new sdk.Client({ name: 'reins', version: options.version });
  let changes = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
  const isAnswer = (error: unknown) => error instanceof McpError && client.transport !== undefined;
  const ended = new Promise<void>((resolve) => Object.assign(client, { onclose: resolve }));
  await connectClient(client, opened, options.signal);
  if (server.transport !== 'stdio') pingOnTrouble(client, { server, opened, options, isAnswer });

  async function ask(method: 'tools/list' | 'tools/call', params: JsonObject, signal: AbortSignal) {
    signal.throwIfAborted();
    const result = await client.request({ method, params }, ResultSchema, { signal, timeout: longestTimerMs });
    const value = toJsonValue(result);
    return isJsonObject(value) ? value : {};
  }

  return {
    ended,
    changes: () => changes,
    close: () => opened.close(),
    kill: () => opened.kill(),
    async listTools(signal) {
      const found: RemoteTool[] = [];
      let cursor: JsonValue | undefined;
      let pages = client.getServerCapabilities()?.tools === undefined ? 0 : maxPages;
      for (; pages > 0; pages--) {
        const page: JsonObject = await ask('tools/list', cursor === undefined ? {} : { cursor }, signal);
        const { tools = [], nextCursor = '' } = page;
        if (Array.isArray(tools)) found.push(...tools.map(readRemoteTool).filter((tool) => tool !== null));
        if (typeof nextCursor !== 'string' || nextCursor === '' || nextCursor === cursor) break;
        cursor = nextCursor;
      }
      return found;
    },
    async callTool(name, input, signal) {
      try {
        return await ask('tools/call', { name, arguments: input }, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw new McpCallError(server.name, failureOf(error, { isAnswer: isAnswer(error) }), error);
      }
    },
  };
}

async function connectClient(client: Client, opened: OpenedTransport, signal: AbortSignal): Promise<void> {
  const told: Error[] = [];
  Object.assign(client, { onerror: (error: Error) => void told.push(error) });
  try {
    await Promise.race([client.connect(opened.transport, { signal, timeout: longestTimerMs }), rejection(signal)]);
  } catch (error) {
    await opened.kill();
    // The SDK says that the connection closed; the transport knows why.
    const why = told.at(-1);
    if (error instanceof Error && why !== error) error.cause ??= why;
    throw error;
  }
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => reject(signal.reason instanceof Error ? signal.reason : new Error('Stopped.'));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

interface Suspect {
  readonly server: McpServer;
  readonly opened: OpenedTransport;
  readonly options: ConnectOptions;
  isAnswer(error: unknown): boolean;
}

/** A remote server that dies is not heard of: streams break, and the SDK goes on waiting for replies (N3). */
function pingOnTrouble(client: Client, suspect: Suspect): void {
  const { server, opened, options } = suspect;
  let pinging = false;
  async function ping(): Promise<void> {
    using limit = timeLimit(options.clock, pingMs);
    try {
      await client.ping({ signal: limit.signal, timeout: longestTimerMs });
    } catch (error) {
      // An error of the server's own is an answer as well.
      if (!limit.signal.aborted && !suspect.isAnswer(error)) await opened.kill();
    } finally {
      pinging = false;
    }
  }
  const onerror = (error: Error) => {
    if (pinging || client.transport === undefined) return;
    pinging = true;
    options.logger.info('An MCP connection has trouble.', { server: server.name, cause: error.message });
    void (opened.isFatal(error) ? opened.kill() : ping());
  };
  Object.assign(client, { onerror });
}
