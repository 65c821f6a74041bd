import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Clock } from '../../core/clock.ts';
import type { McpServer, RemoteServer, StdioServer } from './mcp-server.ts';
import { guardedConnect } from '../../net/guarded-connect.ts';
import { StdioTransport, type StdioDeps } from './stdio-transport.ts';
import { watchReplies } from './watch-replies.ts';
import { within } from '../../core/within.ts';

export interface OpenedTransport {
  readonly transport: Transport;
  /** Whether an error that the transport reports means that the session is over. */
  isFatal(error: Error): boolean;
  /** Takes leave of the server, and settles when the process or the sockets are gone. */
  close(): Promise<void>;
  /** The same without taking leave. */
  kill(): Promise<void>;
}

const leaveMs = 2000;

export async function openTransport(server: McpServer, deps: StdioDeps): Promise<OpenedTransport> {
  switch (server.transport) {
    case 'stdio':
      return openStdio(server, deps);
    case 'http':
      return openHttp(server, deps.clock);
    case 'sse':
      return openSse(server);
  }
}

function openStdio(server: StdioServer, deps: StdioDeps): OpenedTransport {
  const transport = new StdioTransport(server, deps);
  return { transport, isFatal: () => false, close: () => transport.close(), kill: () => transport.kill() };
}

async function openHttp({ url, headers, reach }: RemoteServer, clock: Clock): Promise<OpenedTransport> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const pool = await openPool(reach);
  const replies = watchReplies(pool.fetch, clock);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: replies.fetch,
    requestInit: { headers: { ...headers } },
  });
  replies.attach(transport);
  const kill = async () => {
    await transport.close();
    await pool.destroy();
  };
  return {
    transport,
    kill,
    isFatal: () => false,
    async close() {
      await within(transport.terminateSession(), { clock, ms: leaveMs });
      await kill();
    },
  };
}

async function openSse({ url, headers, reach }: RemoteServer): Promise<OpenedTransport> {
  const { SSEClientTransport, SseError } = await import('@modelcontextprotocol/sdk/client/sse.js');
  const pool = await openPool(reach);
  const transport = new SSEClientTransport(new URL(url), {
    fetch: pool.fetch,
    requestInit: { headers: { ...headers } },
  });
  const kill = async () => {
    await transport.close();
    await pool.destroy();
  };
  // A session lives as long as its stream: what the transport connects by itself is another one, without our calls.
  return { transport, kill, isFatal: (error) => error instanceof SseError, close: kill };
}

/** Sockets of one connection. The default limits of 300 s would end a quiet stream, and with it a long call. */
async function openPool(
  reach: RemoteServer['reach'],
): Promise<{ fetch: typeof globalThis.fetch; destroy(): Promise<void> }> {
  const { Agent, fetch } = await import('undici');
  const connect = reach === undefined ? { timeout: 10_000 } : await guardedConnect(reach);
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect });
  return {
    fetch: (input, init = {}) => {
      const { method = 'GET', body = null, signal = null, redirect = 'follow' } = init;
      const headers = [...new Headers(init.headers)];
      if (body !== null && typeof body !== 'string') throw new TypeError('A message is text.');
      const url = input instanceof Request ? input.url : input;
      return fetch(url, { method, headers, body, signal, redirect, dispatcher });
    },
    destroy: () => dispatcher.destroy(),
  };
}
