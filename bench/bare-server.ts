// The yardstick: the least that a server can do which sends the same frames. It keeps nothing, checks nothing, and forgets a
// stream when it ends. `/joined` writes what arose within 5 ms at once, `/each` writes every event by itself.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createArrivals } from './arrivals.ts';
import { obey } from './server-link.ts';
import { deltaText, parseTaskShape } from './task-shape.ts';

const windowMs = 5;
const arrivals = createArrivals();
let stored: unknown = null;

const server = createServer((request, response) => {
  void route(request, response);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  obey({ port, arrivals, marks: [], close: async () => server.closeAllConnections() });
});

async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') return sendJson(response, stored);
  const body = JSON.parse(await readBody(request));
  if (request.method === 'POST') return stream(request.url === '/joined' ? joined : each, response, body.input);
  stored = body;
  sendJson(response, null);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function sendJson(response: ServerResponse, value: unknown): void {
  const body = JSON.stringify(value);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body);
}

type Write = (response: ServerResponse, text: string) => void;
const each: Write = (response, text) => void response.write(text);

const waiting = new Map<ServerResponse, string>();
const joined: Write = (response, text) => {
  if (waiting.size === 0) setTimeout(flush, windowMs);
  waiting.set(response, (waiting.get(response) ?? '') + text);
};

function flush(): void {
  for (const [response, text] of waiting) response.write(text);
  waiting.clear();
}

async function stream(write: Write, response: ServerResponse, input: string): Promise<void> {
  const shape = parseTaskShape(input);
  response.socket?.setNoDelay(true);
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  response.write(frame(0, { type: 'response.created', sequence_number: 0, response: { id: 'resp', output: [] } }));
  if (shape.kind === 'hold') return;
  let text = '';
  for (let index = 0; index < shape.events; index++) {
    const wait = arrivals.before(shape, index);
    if (wait !== undefined) await wait;
    const delta = deltaText(shape);
    text += delta;
    write(response, frame(index + 1, deltaEvent(index, delta)));
  }
  write(response, frame(shape.events + 1, { type: 'response.completed', output: [{ text }] }));
  if (write === joined) flush();
  response.end();
}

/** The fields and lengths of the protocol's most frequent event. */
function deltaEvent(index: number, delta: string) {
  return {
    type: 'response.output_text.delta',
    sequence_number: index + 1,
    item_id: 'msg_0123456789abcdef0123456789abcdef_1_1_0',
    output_index: 0,
    content_index: 0,
    delta,
  };
}

function frame(id: number, event: object): string {
  return `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
}
