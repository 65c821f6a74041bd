// One GET over the open network, redirects followed by hand.
//
// N1. Each hop's host is checked, and its connection goes to the checked addresses; name and certificate stay the URL's.
// N2. A redirect is a URL like any other: it is checked again, and never leads from https to http.
// N3. Whoever leaves closes the socket: by the signal at once, else by disposing.

import { checkedAddresses, UrlRefusal, type HostRules } from '../../net/public-host.ts';
import { pinnedAgent } from '../../net/pinned-agent.ts';
import type { Response } from 'undici';
import { untilAborted } from '../../core/until-aborted.ts';

export interface OpenUrlOptions extends HostRules {
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

export interface OpenedUrl extends AsyncDisposable {
  /** Where the redirects ended. */
  readonly url: URL;
  readonly response: Response;
}

const maxRedirects = 5;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** @throws UrlRefusal  The URL, or one that it redirects to, must not be opened. */
export async function openUrl(start: URL, options: OpenUrlOptions): Promise<OpenedUrl> {
  let url = start;
  for (let redirects = 0; ; redirects++) {
    const opened = await openHop(url, options);
    const { status, headers } = opened.response;
    const location = redirectStatuses.has(status) ? headers.get('location') : null;
    if (location === null) return opened;
    await opened[Symbol.asyncDispose]();
    if (redirects === maxRedirects) throw new UrlRefusal(`There are more than ${maxRedirects} redirects.`);
    url = redirectTarget(url, location);
  }
}

export function redirectTarget(from: URL, location: string): URL {
  const target = httpUrl(location, from);
  if (from.protocol === 'https:' && target.protocol === 'http:')
    throw new UrlRefusal('The page redirects from https to http.');
  return target;
}

/** @throws UrlRefusal  No URL, not http or https, or with a name or password in it. */
export function httpUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new UrlRefusal('This is not a complete URL.');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new UrlRefusal('Only http and https URLs can be fetched.');
  if (url.username !== '' || url.password !== '')
    throw new UrlRefusal('A URL with a user name or password is not fetched.');
  return url;
}

async function openHop(url: URL, { signal, headers, ...rules }: OpenUrlOptions): Promise<OpenedUrl> {
  // A look-up of a name cannot be cancelled, only left.
  const addresses = await untilAborted(checkedAddresses(url.hostname, rules), signal);
  const agent = await pinnedAgent(addresses);
  const { fetch } = await import('undici');
  try {
    const response = await fetch(url, { dispatcher: agent, redirect: 'manual', headers, signal });
    return { url, response, [Symbol.asyncDispose]: () => agent.destroy() };
  } catch (error) {
    await agent.destroy();
    throw error;
  }
}
