// Streamable HTTP answers a request by a stream of its own. When such a stream ends without the reply, the SDK waits on: a
// server that dies during a call would hold it until its time limit. This file tells the client instead.
//
// W1. A request whose stream ended is answered with an error of ours, unless its reply came, or events had ids: such a
//     stream can be resumed, which the SDK does.
// W2. The stream of a cancelled request is closed, or each cancel would leave a socket open.

import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Clock } from '../../core/clock.ts';
import { isJsonObject, parsedOrText, type JsonValue } from '../../core/json.ts';

/** Code of that error, in the range that JSON-RPC leaves to implementations. */
export const replyLost = -32_077;
/** The SDK parses what was read last while its stream ends. */
const settleMs = 100;

export interface ReplyWatch {
  readonly fetch: FetchLike;
  /** To be called before the client connects: it then sees every message first. */
  attach(transport: Transport): void;
}

export function watchReplies(send: FetchLike, clock: Clock): ReplyWatch {
  const open = new Map<JsonValue, ReadableStreamDefaultReader<Uint8Array>>();
  let give: Transport['onmessage'];

  function lost(id: number): void {
    if (!open.delete(id)) return;
    const message = 'The reply stream ended without a reply.';
    give?.({ jsonrpc: '2.0', id, error: { code: replyLost, message } });
  }

  async function* watched(id: number, body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    const reader = body.getReader();
    open.set(id, reader);
    let canResume = false;
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        canResume ||= /(^|\n)id:/.test(Buffer.from(next.value).toString('latin1'));
        yield next.value;
      }
    } finally {
      if (!canResume) clock.timer(settleMs, () => lost(id));
    }
  }

  return {
    async fetch(url, init) {
      const { cancelled, requestId } = readRequest(init?.body);
      const response = await send(url, init);
      const unwanted = open.get(cancelled);
      open.delete(cancelled);
      await unwanted?.cancel();
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
      if (typeof requestId !== 'number' || response.body === null || !isStream) return response;
      const { status, statusText, headers } = response;
      const body = ReadableStream.from(watched(requestId, response.body));
      return new Response(body, { status, statusText, headers: [...headers] });
    },
    attach(transport) {
      const onmessage = (message: JSONRPCMessage) => {
        if ('id' in message && !('method' in message)) open.delete(message.id ?? null);
      };
      Object.assign(transport, { onmessage });
      give = (message) => transport.onmessage?.(message);
    },
  };
}

/** The id of the request in this body, or of the request that it cancels; null = none. */
function readRequest(body: unknown): { requestId: JsonValue; cancelled: JsonValue } {
  const message = typeof body === 'string' ? parsedOrText(body) : null;
  if (!isJsonObject(message)) return { requestId: null, cancelled: null };
  const { id = null, method, params = null } = message;
  const cancels = method === 'notifications/cancelled' && isJsonObject(params);
  return { requestId: id, cancelled: cancels ? (params['requestId'] ?? null) : null };
}
