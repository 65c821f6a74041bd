// A server of the protocol that does what a test tells it to, and nothing of its own accord.

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface StubUhp extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly StubRequest[];
}

/** `seen` counts the requests of that method and path, this one included. */
export type Answer = (response: ServerResponse, request: StubRequest, seen: number) => unknown;

/** By `METHOD /path`; what is not named is a 404. */
export async function startStub(answers: Readonly<Record<string, Answer>>): Promise<StubUhp> {
  const requests: StubRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://stub');
    const { method = '', headers } = incoming;
    const request = { method, path: pathname, query: searchParams, headers, body: await text(incoming) };
    requests.push(request);
    const seen = requests.filter((other) => other.method === method && other.path === pathname).length;
    const answer = answers[`${method} ${pathname}`] ?? (method === 'GET' && pathname === '/v1/uhp' ? idempotent : none);
    await answer(response, request, seen);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const json =
  (body: unknown, { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {}): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

export const refusal = (
  status: number,
  code: string,
  more: object = {},
  headers: Record<string, string> = {},
): Answer => {
  const type = status === 429 ? 'rate_limit_error' : status >= 500 ? 'server_error' : 'invalid_request_error';
  return json({ error: { type, code, message: 'No.', param: null, detail: null, ...more } }, { status, headers });
};

/** Writes all of it, then ends in order. */
export const stream =
  (...chunks: readonly (string | Uint8Array)[]): Answer =>
  (response) => {
    open(response);
    for (const chunk of chunks) response.write(chunk);
    response.end();
  };

/** Writes all of it, then the connection is gone. */
export const torn =
  (...chunks: readonly string[]): Answer =>
  (response) => {
    open(response);
    // The bytes leave before the socket goes.
    response.write(chunks.join(''), () => setImmediate(() => response.destroy()));
  };

export function open(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
}

/** One after the other, the last one stays. */
export const inTurn =
  (...answers: readonly Answer[]): Answer =>
  (response, request, seen) =>
    answers[Math.min(seen, answers.length) - 1]?.(response, request, seen);

const idempotent = json({ object: 'uhp.discovery', capabilities: { idempotency: true } });
const none = refusal(404, 'response_not_found');

/** A response as it stands. */
export function responseOf(said: string, change: object = {}) {
  const output =
    said === ''
      ? []
      : [
          {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: said, annotations: [] }],
          },
        ];
  return { id: 'resp_1', object: 'response', status: 'completed', error: null, output, usage: null, ...change };
}

/** The events of a task that says these pieces. */
export function eventsOf(...pieces: readonly string[]): readonly object[] {
  const [place, whole] = [{ item_id: 'msg_1', output_index: 0, content_index: 0 }, pieces.join('')];
  const running = responseOf('', { status: 'in_progress' });
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
  const part = { type: 'output_text', text: '', annotations: [] };
  return [
    { type: 'response.created', response: running },
    { type: 'response.in_progress', response: running },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.content_part.added', ...place, part },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...place, delta })),
    { type: 'response.output_text.done', ...place, text: whole },
    { type: 'response.content_part.done', ...place, part: { ...part, text: whole } },
    { type: 'response.output_item.done', output_index: 0, item: responseOf(whole).output[0] },
    { type: 'response.completed', response: responseOf(whole) },
  ].map((event, index) => ({ ...event, sequence_number: index }));
}

export const frame = (event: object, newline = '\n'): string => `data: ${JSON.stringify(event)}${newline}${newline}`;
export const frames = (events: readonly object[]): string => events.map((event) => frame(event)).join('');

/** `GET` of the stream: what comes after the cursor. */
export const replay =
  (events: readonly object[]): Answer =>
  (response, request, seen) => {
    const after = request.query.get('starting_after');
    const rest = events.slice(after === null ? 0 : Number(after) + 1);
    return request.query.get('stream') !== 'true'
      ? json(responseOf('stored'))(response, request, seen)
      : stream(frames(rest))(response, request, seen);
  };
