import type { Agent } from 'undici';
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';

export const connectWithinMs = 10_000;

/**
 * Connects to the given addresses, whatever the name would resolve to now; name and certificate stay the URL's. So what was
 * checked is what is spoken to.
 */
export async function pinnedAgent(addresses: readonly LookupAddress[]): Promise<Agent> {
  const { Agent } = await import('undici');
  return new Agent({
    allowH2: false,
    connect: { timeout: connectWithinMs, lookup: lookupOf(addresses) },
  });
}

/** Every name has these addresses. */
export function lookupOf(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, { all }, give) => {
    const [first = { address: '', family: 0 }] = addresses;
    if (all === true) give(null, [...addresses]);
    else give(null, first.address, first.family);
  };
}
