// What of the headers passes in each direction: everything but what belongs to one connection, and credentials.

import { relayProviders } from './routes.ts';
import type { IncomingHttpHeaders } from 'node:http';
import type { OpenLease } from './lease.ts';

const ofConnection =
  /^(connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|http2-settings|host|expect|content-length|accept-encoding|alt-svc)$/;
const credentials = /^(x-api-key|authorization|x-goog-api-key|api-key|proxy-authorization|cookie|set-cookie)$/;

/** What a runtime may have put the lease in; the first that is one counts. */
export function tokensIn(headers: IncomingHttpHeaders): readonly string[] {
  const given = [headers['x-api-key'], headers.authorization?.replace(/^bearer +/i, ''), headers['x-goog-api-key']];
  return given.filter((token) => typeof token === 'string');
}

/** The runtime's headers for the provider: its key in the place of the lease, no other credential (H-201). */
export function upstreamHeaders(headers: IncomingHttpHeaders, lease: OpenLease): Record<string, string | string[]> {
  const { apiKey } = lease.upstream;
  const passing = passingHeaders(headers, lease.token);
  passing['accept-encoding'] = 'identity';
  const { credential } = relayProviders[lease.options.provider];
  if (apiKey !== null) passing[credential] = credential === 'authorization' ? `Bearer ${apiKey}` : apiKey;
  return passing;
}

/** The provider's headers for the runtime. */
export function answerHeaders(
  headers: IncomingHttpHeaders,
  { apiKey }: OpenLease['upstream'],
): Record<string, string | string[]> {
  return passingHeaders(headers, apiKey);
}

function passingHeaders(headers: IncomingHttpHeaders, secret: string | null): Record<string, string | string[]> {
  const named = new Set(headers.connection?.toLowerCase().split(/ *, */));
  const passing: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || ofConnection.test(name) || credentials.test(name) || named.has(name)) continue;
    if (secret !== null && secret !== '' && String(value).includes(secret)) continue;
    passing[name] = value;
  }
  return passing;
}
