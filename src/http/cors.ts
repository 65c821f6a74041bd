// Which pages of other origins a browser lets read answers. Without a setting: none.
//
// O1. An origin is named exactly or gets nothing, and credentials of the browser are never asked for: a key is sent by hand.
// O2. What an answer holds depends on the origin only where some are listed, so only then it varies.

import type { IncomingMessage, ServerResponse } from 'node:http';

const exposed = ['UHP-Version', 'X-Request-Id', 'Idempotent-Replayed', 'Reins-Idempotency-Mismatch', 'Retry-After'];
const asked = ['Authorization', 'Content-Type', 'UHP-Version', 'Idempotency-Key', 'Last-Event-ID'];
const preflight = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'Access-Control-Allow-Headers': asked.join(', '),
  'Access-Control-Max-Age': '7200',
};

export type Cors = (request: IncomingMessage, response: ServerResponse) => 'answered' | 'goes-on';

/** Adds what the origin may know; answers a preflight by itself, for it comes without a credential. */
export function createCors(allowedOrigins: readonly string[]): Cors {
  const allowed = new Set(allowedOrigins);
  if (allowed.size === 0) return () => 'goes-on';
  return (request, response) => {
    response.appendHeader('Vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return 'goes-on';
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Expose-Headers', exposed.join(', '));
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined)
      return 'goes-on';
    response.writeHead(204, preflight).end();
    return 'answered';
  };
}
