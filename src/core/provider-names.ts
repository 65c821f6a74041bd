/** Makers before aggregators, then what the operator runs: the order of UD-84 when no other is set. */
export const providerNames = ['anthropic', 'openai', 'google', 'azure', 'openrouter', 'openai-compatible'] as const;
export type ProviderName = (typeof providerNames)[number];

export function isProviderName(text: string): text is ProviderName {
  return providerNames.some((name) => name === text);
}

/** The environment's names for a provider begin so: `<prefix>_API_KEY`, `<prefix>_BASE_URL`. */
export const environmentPrefix: Readonly<Record<ProviderName, string>> = {
  anthropic: 'ANTHROPIC',
  openai: 'OPENAI',
  google: 'GOOGLE_GENERATIVE_AI',
  azure: 'AZURE',
  openrouter: 'OPENROUTER',
  'openai-compatible': 'OPENAI_COMPATIBLE',
};

/** What the operator configured for one provider; absent keys are not configured. */
export interface ProviderSettings {
  readonly apiKey?: string;
  /** In place of the provider's own address, version path included (`https://…/v1`). */
  readonly baseURL?: string;
  /** Azure: the first label of the resource's host name. */
  readonly resourceName?: string;
}
