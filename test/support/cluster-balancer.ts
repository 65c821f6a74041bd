// What stands in front of several servers: each request goes to the next of them, whoever sent it, and its answer is passed on
// byte by byte as it comes. It knows of no session and no task. A server that cannot be connected to is passed over.

import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** Every connection that stands is cut. */
  cut(): void;
  /** How many requests went where, by the place in the list. */
  readonly counts: readonly number[];
}

export interface BalancerOptions {
  /** Addresses of the servers, as they are now. */
  readonly upstreams: () => readonly string[];
  /** Who says nothing for so long is passed over for this request: 504. Absent: it is waited for. */
  readonly answerWithinMs?: number;
}

export async function startBalancer({ upstreams, answerWithinMs }: BalancerOptions): Promise<Balancer> {
  const counts: number[] = [];
  let turn = 0;
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, answer) => {
    const all = upstreams();
    const first = turn++;
    const tries = all.map((_, index) => (first + index) % all.length);
    pass(incoming, answer, tries);
  });
  /** @param tries  Places of servers, the next one first. */
  function pass(incoming: IncomingMessage, answer: ServerResponse, tries: readonly number[]): void {
    const [place, ...others] = tries;
    const upstream = place === undefined ? undefined : upstreams()[place];
    if (upstream === undefined || place === undefined) return refuse(answer, 502);
    const { hostname, port: to } = new URL(upstream);
    const { method, url: path, headers } = incoming;
    const outgoing = request({ hostname, port: to, method, path, headers, agent: false });
    let isConnected = false;
    const silent = setTimeout(() => fail(504), answerWithinMs ?? 2 ** 30);
    const fail = (status: number) => {
      clearTimeout(silent);
      outgoing.destroy();
      refuse(answer, status);
    };
    outgoing.on('socket', (socket) =>
      socket.on('connect', () => {
        isConnected = true;
        counts[place] = (counts[place] ?? 0) + 1;
        incoming.pipe(outgoing);
      }),
    );
    outgoing.on('error', () => {
      clearTimeout(silent);
      if (isConnected) fail(502);
      else pass(incoming, answer, others);
    });
    outgoing.on('response', (response) => {
      clearTimeout(silent);
      answer.writeHead(response.statusCode ?? 502, response.rawHeaders);
      answer.flushHeaders();
      response.on('error', () => answer.destroy()).on('close', () => response.complete || answer.destroy());
      response.pipe(answer);
    });
    answer.on('close', () => {
      clearTimeout(silent);
      outgoing.destroy();
    });
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    cut: () => server.closeAllConnections(),
    [Symbol.asyncDispose]: () => closeAll(server),
  };
}

/** What began to be answered can only be cut. */
function refuse(answer: ServerResponse, status: number): void {
  if (answer.headersSent || answer.destroyed) return void answer.destroy();
  answer.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end('No server answered.\n');
}

async function closeAll(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  if (server.listening) await once(server, 'close');
}
