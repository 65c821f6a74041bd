import type { RuntimeModels } from './harnesses/foreign/foreign-parts.ts';
import type { ProviderStanding } from './harnesses/relay/provider-standing.ts';

/**
 * The models, without those that their provider has just refused (H-011): these are listed as not available, and are nobody's
 * default. One that a task names is still tried, and its success brings it back.
 */
export function modelsInStanding(models: RuntimeModels, standing: ProviderStanding): RuntimeModels {
  const list: RuntimeModels['list'] = (among) =>
    models.list(among).map((listing) => {
      const choice = models.choose(listing.id, among);
      const provider = among.find((each) => choice.available && each === choice.ref.provider);
      if (!choice.available || provider === undefined) return listing;
      const why = standing.problem(provider, models.nativeName(choice.ref));
      return why === null ? listing : { ...listing, available: false, why };
    });
  return {
    list,
    choose(requested, among) {
      const first = requested === null ? list(among).find(({ available }) => available)?.id : undefined;
      return models.choose(requested ?? first ?? null, among);
    },
    nativeName: (ref) => models.nativeName(ref),
  };
}
