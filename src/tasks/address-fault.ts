import { isRefusedAddress } from '../net/public-host.ts';

/**
 * Why no harness may bring an MCP server of this url, in one sentence; null: it may. Where a name leads is judged at each
 * connection.
 */
export function addressFault(url: string, allowHosts: readonly string[]): string | null {
  if (!isRefusedAddress(new URL(url).hostname, { allowHosts })) return null;
  return 'Its address is not a public one, and the operator has not allowed it.';
}
