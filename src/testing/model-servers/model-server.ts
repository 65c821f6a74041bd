// A model provider on loopback: real HTTP, real server-sent events, scripted replies and scripted faults. It exists so that
// provider clients are tested with the bytes they will meet, and engines with the clients they will use.

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { sleep, type Clock } from '../../core/clock.ts';
import type { JsonObject } from '../../core/json.ts';
import { anthropicWire } from './anthropic-wire.ts';
import { googleWire } from './google-wire.ts';
import { openaiChatWire } from './openai-chat-wire.ts';
import { openaiResponsesWire } from './openai-responses-wire.ts';
import { beatsBeforeFault, replyAt, type ReplyScript, type ScriptedReply } from './reply-script.ts';
import type { WireProtocol } from './wire-protocol.ts';

const protocols = {
  anthropic: anthropicWire,
  'openai-responses': openaiResponsesWire,
  'openai-chat': openaiChatWire,
  google: googleWire,
};
export type ModelServerProtocol = keyof typeof protocols;

export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

export interface ModelServer extends AsyncDisposable {
  /** Ends with `/v1`; every path below it answers in the server's one protocol. */
  readonly baseURL: string;
  readonly requests: readonly RecordedRequest[];
  /** Replies that are being written: 0 once every client has gone or has been answered. */
  readonly open: number;
  close(): Promise<void>;
}

export async function startModelServer(
  protocol: ModelServerProtocol,
  script: ReplyScript<RecordedRequest>,
  options: { readonly clock?: Clock } = {},
): Promise<ModelServer> {
  const wire = protocols[protocol];
  const requests: RecordedRequest[] = [];
  const closing = new AbortController();
  let open = 0;
  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    open++;
    response.once('close', () => open--);
    const request = await readRequest(message);
    requests.push(request);
    const reply = replyAt(script, request, requests.length - 1);
    await writeReply(response, reply, { wire, model: modelOf(request), clock: options.clock, signal: closing.signal });
  };
  const server = createServer((message, response) => {
    answer(message, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const close = async () => {
    closing.abort();
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    requests,
    get open() {
      return open;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function readRequest(message: IncomingMessage): Promise<RecordedRequest> {
  const text = (await buffer(message)).toString();
  return {
    path: message.url ?? '/',
    headers: message.headers,
    body: text === '' ? {} : (JSON.parse(text) as JsonObject),
  };
}

/** Gemini names the model in the path, the others in the body. */
function modelOf({ body, path }: RecordedRequest): string {
  const named = body['model'];
  return typeof named === 'string' ? named : (/models\/([^:/]+)/.exec(path)?.[1] ?? 'unknown');
}

interface WriteContext {
  readonly wire: WireProtocol;
  readonly model: string;
  readonly clock: Clock | undefined;
  readonly signal: AbortSignal;
}

async function writeReply(response: ServerResponse, reply: ScriptedReply, context: WriteContext): Promise<void> {
  const { fault } = reply;
  const { wire, model, clock, signal } = context;
  if (fault?.kind === 'status') {
    response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers });
    response.end(wire.errorBody(fault));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  let frames: string[] = [];
  for (const beat of beatsBeforeFault(wire.beats(reply, model), fault)) {
    if (beat.kind !== 'pause') {
      frames.push(beat.item);
      continue;
    }
    await writeFrames(response, frames, reply.bytes);
    frames = [];
    if (clock !== undefined) await sleep(clock, beat.ms, signal);
  }
  if (fault?.kind === 'error-event') frames.push(wire.errorEvent(fault));
  await writeFrames(response, frames, reply.bytes);
  if (fault?.kind === 'stall') return;
  if (fault?.kind === 'cut') response.destroy();
  else response.end();
}

/** Each write is one chunk of the HTTP body, which the client's parser hands on as it is, also when packets are joined. */
async function writeFrames(
  response: ServerResponse,
  frames: readonly string[],
  bytes: ScriptedReply['bytes'],
): Promise<void> {
  for (const piece of cut(frames, bytes)) {
    if (piece.length === 0) continue;
    await new Promise<void>((resolve) => response.write(piece, () => resolve()));
  }
}

function cut(frames: readonly string[], bytes: ScriptedReply['bytes']): readonly Uint8Array[] {
  const whole = new TextEncoder().encode(frames.join(''));
  if (bytes === undefined) return frames.map((frame) => new TextEncoder().encode(frame));
  if ('splitAt' in bytes) return [whole.subarray(0, bytes.splitAt), whole.subarray(bytes.splitAt)];
  return Array.from({ length: Math.ceil(whole.length / bytes.every) }, (_, at) =>
    whole.subarray(at * bytes.every, (at + 1) * bytes.every),
  );
}
