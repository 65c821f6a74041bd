// Which hosts may be spoken to on the word of a model or a client (UR-52).
//
// H1. A name is resolved once; what comes back is what was checked, and the caller connects to that alone. A second look-up
//     could give another address.
// H2. Every address of a name must be public, not only one of them.
// H3. A refusal names the host as given, never its addresses: they tell about the network inside.

import ipaddr from 'ipaddr.js';
import { isIP } from 'node:net';
import { lookup as lookupName } from 'node:dns/promises';
import { ReinsError } from '../core/errors.ts';
import type { LookupAddress } from 'node:dns';

/** An address that must not be spoken to. `message` is for the model or the caller. */
export class UrlRefusal extends ReinsError {}

export interface HostRules {
  /** Hosts that may have any address: exact names, or `*.suffix` for all names below one. */
  readonly allowHosts?: readonly string[];
  /** All addresses of a name; absent: as the operating system resolves it. */
  readonly lookup?: (hostname: string) => Promise<readonly LookupAddress[]>;
}

/**
 * The addresses of a URL's host, checked.
 * @throws UrlRefusal  One of them is not public, and the host is not allowed by name.
 */
export async function checkedAddresses(hostname: string, rules: HostRules): Promise<readonly LookupAddress[]> {
  const { allowHosts = [], lookup = (name) => lookupName(name, { all: true }) } = rules;
  const host = bare(hostname);
  const family = isIP(host);
  const addresses = family === 0 ? await lookup(host) : [{ address: host, family }];
  if (
    addresses.length === 0 ||
    !(isAllowed(host, allowHosts) || addresses.every(({ address }) => isPublicAddress(address)))
  )
    throw new UrlRefusal(`The host '${host}' is not a public one.`);
  return addresses;
}

/** Whether a host is refused for what is written: an address that is not public. A name is judged by where it leads, later. */
export function isRefusedAddress(hostname: string, { allowHosts = [] }: Pick<HostRules, 'allowHosts'> = {}): boolean {
  const host = bare(hostname);
  return isIP(host) !== 0 && !isPublicAddress(host) && !isAllowed(host, allowHosts);
}

/** Without the brackets of an IPv6 address and the dot of a complete name. */
function bare(host: string): string {
  return host.toLowerCase().replaceAll(/^\[|\]$|\.$/g, '');
}

function isAllowed(host: string, allowHosts: readonly string[]): boolean {
  return allowHosts.some((pattern) => fits(host, bare(pattern)));
}

function fits(host: string, pattern: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}

const globalUnicast = ipaddr.parseCIDR('2000::/3');
const translated = ipaddr.parseCIDR('64:ff9b::/96');
/** Looks public, but answers inside every machine of Azure alone. */
const azureWireServer = '168.63.129.16';

/** Whether an address is public unicast. Addresses that carry another one are judged by what they carry, or refused. */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false;
  const address = ipaddr.process(text); // A mapped IPv4 address becomes that address.
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast' && address.toString() !== azureWireServer;
  // Where a network has IPv6 alone, every IPv4 host is reached so (NAT64).
  if (address.match(translated)) return isPublicAddress(address.toByteArray().slice(12).join('.'));
  return address.match(globalUnicast) && address.range() === 'unicast';
}
