import type { Model, ModelTraits, OpenedModel } from '../model.ts';
import { withSentToolInput } from './openrouter-tool-input.ts';
import { withEndMark } from './responses-end-mark.ts';

/** Makers before aggregators, then what the operator runs: the order of UD-84 when no other is set. */
export const providerNames = ['anthropic', 'openai', 'google', 'azure', 'openrouter', 'openai-compatible'] as const;
export type ProviderName = (typeof providerNames)[number];

/** What the operator configured for one provider; absent keys are not configured. */
export interface ProviderSettings {
  readonly apiKey?: string;
  /** In place of the provider's own address, version path included (`https://…/v1`). */
  readonly baseURL?: string;
  /** Azure: the first label of the resource's host name. */
  readonly resourceName?: string;
}
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

export function isProviderName(text: string): text is ProviderName {
  return providerNames.some((name) => name === text);
}

/** Whether calls can be made at all. A compatible server may need no key; everyone else does. */
export function hasCredential(provider: ProviderName, settings: ProviderSettings = {}): boolean {
  if (provider === 'openai-compatible') return settings.baseURL !== undefined;
  if (settings.apiKey === undefined) return false;
  return provider !== 'azure' || settings.resourceName !== undefined || settings.baseURL !== undefined;
}

/** What must be set before a provider can be used: environment names, for people. */
export const credentialHint: Readonly<Record<ProviderName, string>> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
  azure: 'AZURE_API_KEY with AZURE_RESOURCE_NAME',
  openrouter: 'OPENROUTER_API_KEY',
  'openai-compatible': 'OPENAI_COMPATIBLE_BASE_URL',
};

export const traitsOf = (provider: ProviderName): ModelTraits =>
  provider === 'anthropic' ? { firstEventPromptly: true } : {};

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
    return fetch(input instanceof Request ? input.url : input, { method, headers, body, signal, dispatcher });
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
