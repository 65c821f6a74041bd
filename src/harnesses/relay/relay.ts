// The model relay: a listener on loopback between foreign runtimes and providers (H-200 to H-206). It owns leases and says
// who may come in; `forward.ts` passes what was let in.
//
// R1. It listens on 127.0.0.1 only, and answers only to that name: a page that has a name of its own point here is refused.
// R2. A runtime has a lease in the place of a key, and the provider's key never leaves this process but to the provider.
// R3. A lease is looked up by its digest alone: how long that takes says nothing of any lease (H-200). Neither lease nor key
//     is ever in the log.

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { ConfigurationError } from '../../core/errors.ts';
import { createRedactor } from '../../core/redact.ts';
import { findRoute, relayProviders, type RelayProvider, type Wire } from './routes.ts';
import { forward, refuse, type ForwardParts } from './forward.ts';
import { openLease, type Lease, type LeaseOptions, type OpenLease, type OpenUpstream } from './lease.ts';
import { refusals } from './refusals.ts';
import { tokensIn } from './headers.ts';
import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import type { PriceOf, RelayedCall } from './relayed-call.ts';
import type { Random } from '../../core/random.ts';

export interface Upstream {
  /** Version path included, as in `https://api.anthropic.com/v1`. */
  readonly baseURL: string;
  /** Null: the server asks for none. */
  readonly apiKey: string | null;
}

export interface RelayOptions {
  readonly upstreams: Readonly<Partial<Record<RelayProvider, Upstream>>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Absent: no price is known. */
  readonly priceOf?: PriceOf;
  /** Each model call, of whichever lease, when it is over. Must not throw. */
  readonly onCall?: (call: RelayedCall) => void;
}

/** Disposing revokes all leases and frees the port. */
export interface Relay extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, without a path: runtimes add `/v1` or `/v1beta` as they are used to. */
  readonly url: string;
  /** @throws ConfigurationError  No such provider is set up, or its address is none. */
  lease(options: LeaseOptions): Lease;
}

export async function openRelay(options: RelayOptions): Promise<Relay> {
  const { upstreams, clock, random, logger, priceOf = () => null, onCall = () => undefined } = options;
  const { Agent } = await import('undici');
  // The default limits of 300 s would end a quiet stream (E-308); whoever waits for it has limits of their own.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 } });
  const leases = new Map<string, OpenLease>();
  const running = new Set<Promise<void>>();
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const answered = answer({ dispatcher, clock, logger }, { leases, request, response })
      .catch((cause: unknown) => {
        logger.error('The model relay failed.', {}, cause);
        response.destroy();
      })
      .finally(() => running.delete(answered));
    running.add(answered);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new TypeError('A listening server has a port.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    lease(wanted) {
      const upstream = openUpstream(upstreams[wanted.provider]);
      // Two of them are the 256 bits that H-200 asks for.
      const token = `${random.token()}${random.token()}`;
      const key = digest(token);
      const forget = () => void leases.delete(key);
      const lease = openLease(wanted, { token, upstream, forget, priceOf, onCall });
      leases.set(key, lease);
      return lease;
    },
    async [Symbol.asyncDispose]() {
      for (const lease of leases.values()) lease[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await Promise.all(running);
      await dispatcher.destroy();
    },
  };
}

interface Visit {
  readonly leases: ReadonlyMap<string, OpenLease>;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function answer(parts: ForwardParts, { leases, request, response }: Visit): Promise<void> {
  const { method = '', url = '' } = request;
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/i.test(request.headers.host ?? ''))
    return refuse(response, guessWire(url), refusals.foreignHost());
  const lease = tokensIn(request.headers)
    .map((token) => leases.get(digest(token)))
    .find((found) => found !== undefined);
  if (lease === undefined) return refuse(response, guessWire(url), refusals.unknownLease());
  const route = findRoute(lease.options.provider, method, url);
  if (route === null) return refuse(response, relayProviders[lease.options.provider].wires[0], refusals.unknownPath());
  await forward(parts, { route, lease, request, response });
}

/** What somebody speaks who has no lease to tell it by. */
function guessWire(target: string): Wire {
  if (target.startsWith('/v1beta/')) return 'google';
  return target.startsWith('/v1/messages') ? 'anthropic' : 'chat';
}

const digest = (token: string): string => createHash('sha256').update(token).digest('hex');

function openUpstream(upstream: Upstream | undefined): OpenUpstream {
  const { baseURL = '', apiKey = null } = upstream ?? {};
  const base = URL.parse(baseURL);
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new ConfigurationError('The provider of this model is not set up for other harnesses.');
  return {
    origin: base.origin,
    path: base.pathname.replace(/\/+$/, ''),
    query: base.search.slice(1),
    apiKey,
    redact: createRedactor(apiKey === null ? [] : [apiKey]),
  };
}
