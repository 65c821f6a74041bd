import type { ProviderName } from '../../core/provider-names.ts';
import type { TokenPrices } from '../../core/cost.ts';

export interface CatalogueEntry {
  /** Canonical: the maker's name in lower case, version with dots, no provider in it (UD-84). */
  readonly id: string;
  readonly label: string;
  /** Who serves it, each with its own name for it. */
  readonly names: Readonly<Partial<Record<ProviderName, string>>>;
  /** Tokens of prompt and reply together; null = unknown. */
  readonly contextTokens: number | null;
  /** Tokens of one reply; null = unknown. */
  readonly maxOutputTokens: number | null;
  /** Where one price holds for every length of prompt; absent: none does, or it is unknown. */
  readonly dollarsPerMillionTokens?: TokenPrices;
  /** Media types that a prompt may hold. */
  readonly accepts: readonly string[];
}

const documents = ['text/*', 'image/*', 'application/pdf'];
const images = ['text/*', 'image/*'];

// What is served without further settings, as of November 2026; the first that is available is the default model.
// The setting `models.catalogue` adds entries and replaces these by id. Azure names deployments as its owner likes, and a
// compatible server has models of its own: ask for those as `azure/<deployment>` and `openai-compatible/<name>`.
export const catalogueEntries: readonly CatalogueEntry[] = [
  claude('claude-sonnet-5.5', 'Claude Sonnet 5.5', { input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 }),
  claude('claude-opus-5.5', 'Claude Opus 5.5', { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 }),
  claude('claude-haiku-5.5', 'Claude Haiku 5.5'),
  claude('claude-sonnet-4.6', 'Claude Sonnet 4.6', { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }),
  claude('claude-opus-4.6', 'Claude Opus 4.6', { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }),
  {
    ...claude('claude-haiku-4.5', 'Claude Haiku 4.5', { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 }),
    contextTokens: 200_000,
    maxOutputTokens: 64_000,
  },
  gpt('gpt-6.2-sol', 'GPT-6.2 Sol'),
  gpt('gpt-6.1-terra', 'GPT-6.1 Terra'),
  gpt('gpt-6-luna', 'GPT-6 Luna'),
  gpt('gpt-5.4', 'GPT-5.4'),
  {
    ...gpt('gpt-5.4-mini', 'GPT-5.4 mini'),
    contextTokens: 400_000,
    dollarsPerMillionTokens: { input: 0.75, output: 4.5, cacheRead: 0.075 },
  },
  gemini('gemini-4-neon', 'Gemini 4 Neon', { input: 3, output: 15, cacheRead: 0.15 }),
  gemini('gemini-3.8-flash', 'Gemini 3.8 Flash', { input: 0.75, output: 3.75, cacheRead: 0.075 }),
  gemini('gemini-2.5-pro', 'Gemini 2.5 Pro'),
  gemini('gemini-2.5-flash', 'Gemini 2.5 Flash', { input: 0.3, output: 2.5, cacheRead: 0.03 }),
];

function claude(id: string, label: string, prices?: TokenPrices): CatalogueEntry {
  return {
    id,
    label,
    names: { anthropic: id.replaceAll('.', '-'), openrouter: `anthropic/${id}` },
    contextTokens: 1_000_000,
    maxOutputTokens: 128_000,
    accepts: documents,
    ...(prices === undefined ? {} : { dollarsPerMillionTokens: prices }),
  };
}

function gpt(id: string, label: string): CatalogueEntry {
  return {
    id,
    label,
    names: { openai: id, openrouter: `openai/${id}` },
    contextTokens: 1_050_000,
    maxOutputTokens: 128_000,
    accepts: images,
  };
}

function gemini(id: string, label: string, prices?: TokenPrices): CatalogueEntry {
  return {
    id,
    label,
    names: { google: id, openrouter: `google/${id}` },
    contextTokens: 1_048_576,
    maxOutputTokens: 65_536,
    accepts: documents,
    ...(prices === undefined ? {} : { dollarsPerMillionTokens: prices }),
  };
}
