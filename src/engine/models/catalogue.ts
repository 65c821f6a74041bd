// Which model a name means, who serves it, and the way to it (UD-84).
//
// C1. `ref.model` is the name that responses carry: the canonical id, or `<provider>/<name>` as asked for a model outside
//     the catalogue. The provider's own name for it is found when the model is opened.
// C2. Availability is computed from credentials, never asserted (U-143); `demo` needs none.

import { catalogueEntries, type CatalogueEntry } from './catalogue-data.ts';
import { ConfigurationError } from '../../core/errors.ts';
import { createProviders, credentialHint, hasCredential, providerOptionsOf, traitsOf } from './providers.ts';
import { isProviderName, providerNames, type ProviderName } from '../../core/provider-names.ts';
import { head } from '../../core/text.ts';
import type { ProvidersSettings } from './providers.ts';
import type { Model, OpenedModel } from '../model.ts';
import type { ModelChoice, ModelListing } from '../../core/model-choice.ts';
import type { ModelRef } from '../../core/outcome.ts';
import type { TokenPrices } from '../../core/cost.ts';

export interface CatalogueOptions {
  /** Beside the built-in ones, or in place of those with the same id (`models.catalogue`). */
  readonly entries?: readonly CatalogueEntry[];
  readonly providers: ProvidersSettings;
  /** Served when a task names no model. Absent: the first available one. */
  readonly defaultModel?: string;
  /** Providers that may serve, tried in this order (`models.providers`). Absent: all, in the order of `providerNames`. */
  readonly order?: readonly ProviderName[];
  readonly demo: Model;
}

export interface CatalogueModel extends OpenedModel {
  /** Null = unknown. */
  readonly contextTokens: number | null;
  readonly dollarsPerMillionTokens?: TokenPrices;
}

/** A provider as `reins doctor` shows it. */
export interface ProviderListing {
  readonly provider: ProviderName;
  /** What a call needs is set; whether it is right shows only when a model is called. */
  readonly configured: boolean;
  /** Environment names, for people. */
  readonly hint: string;
}

export interface Catalogue extends AsyncDisposable {
  readonly defaultModel: string;
  /** @param among  Providers that may serve, of those that may; absent: all. */
  list(among?: readonly ProviderName[]): readonly ModelListing[];
  /** Those that may serve, in the order they are tried. */
  providers(): readonly ProviderListing[];
  /**
   * @param requested  A canonical id, a provider's own name that the catalogue knows, or `<provider>/<name>`; null: the default, or of fewer
   * providers the first that they serve. @param among  As of `list`.
   */
  choose(requested: string | null, among?: readonly ProviderName[]): ModelChoice;
  /** By what name the provider of the reference knows the model. */
  nativeName(ref: ModelRef): string;
  /** By its canonical or a provider's own name; null: unknown, or not one price. */
  pricesOf(name: string): TokenPrices | null;
  /** @throws ConfigurationError  The provider is unknown, or has no credential any more. */
  open(ref: ModelRef): Promise<CatalogueModel>;
}

const demoListing: ModelListing = {
  id: 'demo',
  label: 'Demo (a script, no AI)',
  available: true,
  why: 'It is built in and needs no key.',
};

const demoChoice: ModelChoice = { available: true, id: 'demo', ref: { provider: 'demo', model: 'demo' } };
const demoElsewhere: ModelChoice = {
  available: false,
  id: 'demo',
  why: "'demo' is here, but for 'native' alone: it is a script.",
};

/** @throws ConfigurationError  The default model can never be served: no credential would help. */
export function createCatalogue(options: CatalogueOptions): Catalogue {
  const { providers: settings, demo } = options;
  const entries = new Map([...catalogueEntries, ...(options.entries ?? [])].map((entry) => [entry.id, entry]));
  const order = options.order ?? providerNames;
  const providers = createProviders(settings);
  const usable = (provider: ProviderName) => order.includes(provider) && hasCredential(provider, settings[provider]);
  const serversOf = ({ names }: CatalogueEntry) => order.filter((provider) => names[provider] !== undefined);

  function entryNamed(name: string): CatalogueEntry | undefined {
    return entries.get(name) ?? [...entries.values()].find(({ names }) => Object.values(names).includes(name));
  }

  /** The canonical name, and who could serve it given a credential, or why nobody ever could. */
  function resolve(name: string): { id: string; servers: readonly ProviderName[] } | { id: string; why: string } {
    const entry = entryNamed(name);
    if (entry !== undefined) {
      const [id, servers] = [entry.id, serversOf(entry)];
      return servers.length > 0 ? { id, servers } : { id, why: 'No provider is known to serve it.' };
    }
    const provider = name.slice(0, Math.max(name.indexOf('/'), 0));
    if (!isProviderName(provider) || name.length === provider.length + 1) return { id: name, why: unknown(name) };
    if (order.includes(provider)) return { id: name, servers: [provider] };
    return { id: name, why: `The setting models.providers leaves '${provider}' out.` };
  }

  function choose(requested: string | null, among?: readonly ProviderName[]): ModelChoice {
    const name = requested ?? (among === undefined ? defaultModel : firstOf(among));
    if (name === null) return { available: false, id: '', why: whyNone(among ?? order) };
    if (name === 'demo') return among === undefined ? demoChoice : demoElsewhere;
    const known = resolve(name);
    if ('why' in known) return { available: false, ...known };
    const { id } = known;
    const servers = known.servers.filter((each) => among?.includes(each) ?? true);
    if (servers.length === 0) return { available: false, id, why: 'No provider serves it to this harness.' };
    const provider = servers.find(usable);
    return provider === undefined
      ? { available: false, id, why: `Set ${hintsOf(servers)} to use it.` }
      : { available: true, id, ref: { provider, model: id } };
  }

  const hintsOf = (some: readonly ProviderName[]) => some.map(credentialHint).join(' or ');

  /** The operator's default, where these providers serve it. */
  function firstOf(among: readonly ProviderName[]): string | null {
    const wanted = options.defaultModel;
    if (wanted !== undefined && wanted !== 'demo' && choose(wanted, among).available) return wanted;
    return list(among).find(({ available }) => available)?.id ?? null;
  }

  function whyNone(among: readonly ProviderName[]): string {
    const configured = among.find(usable);
    return configured === undefined
      ? `Set ${hintsOf(among)} to use it.`
      : `Name its model, as ${configured}/<name>: with the task, or for all in 'models.default'.`;
  }

  function list(among?: readonly ProviderName[]): readonly ModelListing[] {
    const served = [...entries.values()].filter(
      (entry) => among === undefined || serversOf(entry).some((each) => among.includes(each)),
    );
    const listed = served.map((entry): ModelListing => {
      const choice = choose(entry.id, among);
      const why = choice.available ? `A credential for ${choice.ref.provider} is set.` : choice.why;
      return { id: entry.id, label: entry.label, available: choice.available, why };
    });
    return among === undefined ? [...listed, demoListing] : listed;
  }

  const defaultModel = options.defaultModel ?? list().find(({ available }) => available)?.id ?? 'demo';
  const known = defaultModel === 'demo' ? null : resolve(defaultModel);
  if (known !== null && 'why' in known)
    throw new ConfigurationError(
      `'models.default' is '${head(defaultModel, 200)}', which cannot be served: ${known.why}`,
    );

  function nativeName(ref: ModelRef): string {
    const asked = askedName(ref);
    return (isProviderName(ref.provider) ? entries.get(asked)?.names[ref.provider] : undefined) ?? asked;
  }

  async function open({ provider, model }: ModelRef): Promise<CatalogueModel> {
    if (provider === 'demo') return { model: demo, traits: {}, maxOutputTokens: null, contextTokens: null };
    if (!isProviderName(provider)) throw new ConfigurationError(`'${provider}' is no provider of models.`);
    if (!usable(provider)) throw new ConfigurationError(`Set ${credentialHint(provider)} to use it.`);
    const entry = entryNamed(model) ?? entryNamed(askedName({ provider, model }));
    const prices = entry?.dollarsPerMillionTokens;
    return {
      model: await providers.open(provider, nativeName({ provider, model })),
      traits: traitsOf(provider),
      maxOutputTokens: entry?.maxOutputTokens ?? null,
      contextTokens: entry?.contextTokens ?? null,
      ...(entry === undefined ? {} : { accepts: entry.accepts }),
      ...providerOptionsOf(provider),
      ...(prices === undefined ? {} : { dollarsPerMillionTokens: prices }),
    };
  }

  return {
    defaultModel,
    list,
    providers: () =>
      order.map((provider) => ({ provider, configured: usable(provider), hint: credentialHint(provider) })),
    choose,
    nativeName,
    pricesOf: (name) => entryNamed(name)?.dollarsPerMillionTokens ?? null,
    open,
    [Symbol.asyncDispose]: () => providers[Symbol.asyncDispose](),
  };
}

const askedName = ({ provider, model }: ModelRef) =>
  model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model;

const unknown = (id: string): string =>
  `No model is called '${head(id, 200)}'; name one of the list, or <provider>/<name> for any other.`;
