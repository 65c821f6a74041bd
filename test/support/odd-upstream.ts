// A provider that answers no model call, or refuses each: it counts who asks and who is still there.

import { createServer } from 'node:http';
import { once } from 'node:events';

export interface Upstream extends AsyncDisposable {
  readonly url: string;
  readonly requests: number;
  /** Connections that wait for an answer. */
  readonly open: number;
}

/** @param status  What each call is refused with; absent: none is answered. */
export async function startUpstream(status?: number): Promise<Upstream> {
  let [requests, open] = [0, 0];
  const server = createServer((request, response) => {
    request.resume();
    requests++;
    open++;
    response.once('close', () => open--);
    if (status !== undefined) response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":{}}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    get requests() {
      return requests;
    },
    get open() {
      return open;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
