// Which requests the relay knows (H-201), and what they are for whom. Anything else is not there.

/** The language of a reply. */
export type Wire = 'anthropic' | 'responses' | 'chat' | 'google';

interface ProviderTraits {
  /** The header that carries the key. */
  readonly credential: 'x-api-key' | 'x-goog-api-key' | 'authorization';
  /** The first one is the language of its errors. */
  readonly wires: readonly [Wire, ...Wire[]];
}

export const relayProviders = {
  anthropic: { credential: 'x-api-key', wires: ['anthropic'] },
  openai: { credential: 'authorization', wires: ['responses', 'chat'] },
  google: { credential: 'x-goog-api-key', wires: ['google'] },
  openrouter: { credential: 'authorization', wires: ['chat', 'responses', 'anthropic'] },
  'openai-compatible': { credential: 'authorization', wires: ['chat', 'responses'] },
} as const satisfies Record<string, ProviderTraits>;

export type RelayProvider = keyof typeof relayProviders;

export interface Route {
  readonly wire: Wire;
  /** A model call is counted, observed and told of; a question beside it is only passed on. */
  readonly kind: 'call' | 'aside';
  readonly method: 'GET' | 'POST';
  /** Below the upstream's base address, which has the version already. */
  readonly path: string;
  readonly query: string;
  /** Where the path says them; absent: the body does. */
  readonly named?: { readonly model: string; readonly streams: boolean };
}

const posts: Readonly<Record<string, Pick<Route, 'wire' | 'kind'>>> = {
  '/v1/messages': { wire: 'anthropic', kind: 'call' },
  '/v1/messages/count_tokens': { wire: 'anthropic', kind: 'aside' },
  '/v1/responses': { wire: 'responses', kind: 'call' },
  '/v1/chat/completions': { wire: 'chat', kind: 'call' },
};
const gemini = /^\/v1beta(?<path>\/models\/(?<model>[\w.-]+):(?<verb>generateContent|streamGenerateContent))$/;

/** @returns null  Not a path of this provider. */
export function findRoute(provider: RelayProvider, method: string, target: string): Route | null {
  const [path = '', ...rest] = target.split('?');
  const route = routeOf(provider, `${method} ${path}`, withoutKeys(rest.join('?')));
  const wires: readonly Wire[] = relayProviders[provider].wires;
  return route !== null && wires.includes(route.wire) ? route : null;
}

function routeOf(provider: RelayProvider, line: string, query: string): Route | null {
  const [method, path = ''] = line.split(' ');
  const wire = relayProviders[provider].wires[0];
  if (line === 'GET /v1/models' && provider !== 'google')
    return { wire, kind: 'aside', method: 'GET', path: '/models', query };
  if (method !== 'POST') return null;
  const post = Object.hasOwn(posts, path) ? posts[path] : undefined;
  if (post !== undefined) return { ...post, method, path: path.slice('/v1'.length), query };
  const { path: below, model, verb } = gemini.exec(path)?.groups ?? {};
  if (below === undefined || model === undefined) return null;
  // Without `alt=sse` the stream is one JSON list.
  const streams = verb === 'streamGenerateContent' && query.split('&').includes('alt=sse');
  return { wire: 'google', kind: 'call', method, path: below, query, named: { model, streams } };
}

/** A key in the address is a credential, too (H-201); everything else stays as it was written. */
function withoutKeys(query: string): string {
  const isKey = (pair: string) => /^(key|api.?key|access_token)$/i.test([...new URLSearchParams(pair).keys()][0] ?? '');
  return query
    .split('&')
    .filter((pair) => !isKey(pair))
    .join('&');
}
