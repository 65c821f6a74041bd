import { checkedAddresses, type HostRules } from './public-host.ts';
import { connectWithinMs, lookupOf } from './pinned-agent.ts';
import type { buildConnector } from 'undici';

/**
 * How an agent connects that may be sent anywhere, also by a redirect: the host of each connection is checked, and the
 * connection goes to the checked addresses. One that is refused cannot be connected to; the cause is a `UrlRefusal`.
 */
export async function guardedConnect(rules: HostRules): Promise<buildConnector.connector> {
  const { buildConnector } = await import('undici');
  return (options, give) => {
    const refuse = (cause: unknown) => give(cause instanceof Error ? cause : new Error(String(cause)), null);
    void checkedAddresses(options.hostname, rules).then((addresses) => {
      const connect = buildConnector({ allowH2: false, timeout: connectWithinMs, lookup: lookupOf(addresses) });
      connect(options, give);
    }, refuse);
  };
}
