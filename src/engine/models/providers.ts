// The provider packages, each loaded when its first model is opened, each with a connection pool of its own (E-308).
// None of them repeats a request. What their streams look like, as `providers.test.ts` shows with real bytes:
//
// F1. A refused request rejects `doStream` with an `APICallError`: `statusCode`, `responseHeaders`, `responseBody`.
// F2. An error event before anything else rejects `doStream` in the same way with Anthropic, OpenAI and Azure, whose
//     packages wait for the first event and invent a status for it (529, 500); elsewhere it is an `error` part.
// F3. Any later error event is an `error` part, whose error is a plain object `{message, type?, code?, statusCode?}`. A
//     finish part may follow it; its reason is then worth nothing. Anthropic sends none. An event of a wrong shape is an
//     `error` part too, and Anthropic's stream then goes on to a finish that looks well.
// F4. A cut connection makes the stream throw an `APICallError` of status 200 with the cause chain of undici; before the
//     first event it rejects `doStream` where F2 does. OpenRouter makes an `error` part of it, and of an abort.
// F5. A stream without its end mark ends in a finish whose raw reason is missing: `interrupted`, with Azure and OpenRouter
//     `other`, with OpenRouter after a call even `tool-calls`, with compatible servers `error` after an `error` part.
//     Calls before it may be cut or whole. A raw reason therefore means a complete reply, and nothing else does (E-306).
// F6. Pieces of text and arguments come as they were sent; some are empty. The joined pieces are the input of the call,
//     broken JSON included; OpenRouter's package is held to that by `openrouter-tool-input.ts`.
// F7. The served model is named in `response-metadata`, by OpenRouter with every chunk, by Google not at all.
// F8. Anthropic's package cuts the reply of a model it does not know to 4,096 tokens unless `maxOutputTokens` is given.

import { environmentPrefix, type ProviderName, type ProviderSettings } from '../../core/provider-names.ts';
import type { Model, ModelTraits, OpenedModel } from '../model.ts';
import { hearBytes } from './hear-bytes.ts';
import { isMinuteQuota } from './google-minute-quota.ts';
import { withSentToolInput } from './openrouter-tool-input.ts';
import { withEndMark } from './responses-end-mark.ts';

export type ProvidersSettings = Readonly<Partial<Record<ProviderName, ProviderSettings>>>;

export interface Providers extends AsyncDisposable {
  /** @param name  The provider's own name of the model; for Azure the deployment's. */
  open(provider: ProviderName, name: string): Promise<Model>;
}

type OpenModel = (name: string) => Model;
interface Client extends AsyncDisposable {
  readonly open: OpenModel;
}
type Connect = (settings: ProviderSettings, fetch: typeof globalThis.fetch) => Promise<OpenModel>;

/** Whether calls can be made at all. A compatible server may need no key; everyone else does. */
export function hasCredential(provider: ProviderName, settings: ProviderSettings = {}): boolean {
  if (provider === 'openai-compatible') return settings.baseURL !== undefined;
  if (settings.apiKey === undefined) return false;
  return provider !== 'azure' || settings.resourceName !== undefined || settings.baseURL !== undefined;
}

/** What must be set before a provider can be used: environment names, for people. */
export function credentialHint(provider: ProviderName): string {
  const prefix = environmentPrefix[provider];
  if (provider === 'openai-compatible') return `${prefix}_BASE_URL`;
  return provider === 'azure' ? `${prefix}_API_KEY with ${prefix}_RESOURCE_NAME` : `${prefix}_API_KEY`;
}

export function traitsOf(provider: ProviderName): ModelTraits {
  if (provider === 'anthropic') return { firstEventPromptly: true };
  return provider === 'google' ? { isTransient: isMinuteQuota } : {};
}

/** OpenAI keeps responses unless told not to; the log is ours. Its package then asks for sealed reasoning to send back. */
export const providerOptionsOf = (provider: ProviderName): Pick<OpenedModel, 'providerOptions'> =>
  provider === 'openai' || provider === 'azure' ? { providerOptions: { openai: { store: false } } } : {};

/**
 * The provider clients of one configuration. Nothing is loaded before the first model of a provider is opened; each
 * provider has one connection pool, shared by its models and closed with this object.
 */
export function createProviders(settings: ProvidersSettings): Providers {
  const clients = new Map<ProviderName, Promise<Client>>();
  return {
    async open(provider, name) {
      const client = clients.get(provider) ?? connect(provider, settings[provider] ?? {});
      clients.set(provider, client);
      // A failed import must not be remembered for the life of the process.
      client.catch(() => clients.delete(provider));
      return (await client).open(name);
    },
    async [Symbol.asyncDispose]() {
      const opened = [...clients.values()];
      clients.clear();
      await Promise.allSettled(opened.map(async (client) => (await client)[Symbol.asyncDispose]()));
    },
  };
}

async function connect(provider: ProviderName, settings: ProviderSettings): Promise<Client> {
  const { Agent, fetch } = await import('undici');
  // The default limits of 300 s would end a quiet stream whatever the engine's own limit is (E-308, B026).
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 } });
  const send: typeof globalThis.fetch = (input, init = {}) => {
    const { method = 'GET', body = null, signal = null } = init;
    const headers = [...new Headers(init.headers)];
    if (body !== null && typeof body !== 'string') throw new TypeError('A model request is text.');
    const url = input instanceof Request ? input.url : input;
    return fetch(url, { method, headers, body, signal, dispatcher: hearBytes(dispatcher, signal) });
  };
  const open = await connectors[provider](settings, send);
  return { open, [Symbol.asyncDispose]: () => dispatcher.destroy() };
}

// The packages fall back to environment variables for what they are not given, so key and address are always given.
const connectors: Readonly<Record<ProviderName, Connect>> = {
  async anthropic({ apiKey = '', baseURL = 'https://api.anthropic.com/v1' }, fetch) {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ apiKey, baseURL, fetch });
  },
  async openai({ apiKey = '', baseURL = 'https://api.openai.com/v1' }, fetch) {
    const { createOpenAI } = await import('@ai-sdk/openai');
    const openai = createOpenAI({ apiKey, baseURL, fetch });
    return (name) => withEndMark(openai.responses(name));
  },
  async google({ apiKey = '', baseURL = 'https://generativelanguage.googleapis.com/v1beta' }, fetch) {
    const { createGoogle } = await import('@ai-sdk/google');
    return createGoogle({ apiKey, baseURL, fetch });
  },
  async azure({ apiKey = '', baseURL, resourceName = '' }, fetch) {
    const { createAzure } = await import('@ai-sdk/azure');
    const azure = createAzure({ apiKey, fetch, ...(baseURL === undefined ? { resourceName } : { baseURL }) });
    return (name) => withEndMark(azure.responses(name));
  },
  async openrouter({ apiKey = '', baseURL = 'https://openrouter.ai/api/v1' }, fetch) {
    const { createOpenRouter } = await import('@openrouter/ai-sdk-provider');
    const openrouter = createOpenRouter({ apiKey, baseURL, fetch, compatibility: 'strict' });
    return (name) => withSentToolInput(openrouter.chat(name));
  },
  async 'openai-compatible'({ apiKey, baseURL = '' }, fetch) {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const key = apiKey === undefined ? {} : { apiKey };
    return createOpenAICompatible({ name: 'openai-compatible', baseURL, fetch, includeUsage: true, ...key });
  },
};
