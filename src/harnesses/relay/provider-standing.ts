import type { Clock } from '../../core/clock.ts';
import type { RelayedCall } from './relayed-call.ts';
import type { ProviderName } from '../../core/provider-names.ts';

/** What providers have lately said of the operator's credentials (H-011). */
export interface ProviderStanding {
  hear(call: RelayedCall): void;
  /** One sentence: why the model, by the provider's own name, would be refused now. Null: nothing speaks against it. */
  problem(provider: ProviderName, model: string): string | null;
}

const rememberedMs = 15 * 60_000;

/** A refusal is forgotten after a quarter of an hour, and by the next success. A key or a quota is the whole provider's, a 403 the model's. */
export function createProviderStanding(clock: Clock): ProviderStanding {
  const refusals = new Map<string, { readonly atMs: number; readonly why: string }>();
  const isOver = ({ atMs }: { readonly atMs: number }) => clock.now() - atMs >= rememberedMs;
  const keyOf = (provider: ProviderName, model: string | null) => JSON.stringify([provider, model]);
  return {
    hear({ provider, model, how, failure, status }) {
      if (how === 'whole') {
        refusals.delete(keyOf(provider, null));
        refusals.delete(keyOf(provider, model));
      } else if (failure === 'authentication' || failure === 'quota') {
        const why =
          failure === 'quota'
            ? `The quota or credit at ${provider} was used up when it was last asked (status ${status}).`
            : `${provider} refused the configured credential when it was last asked (status ${status}).`;
        // Names of models are the runtimes' to make up.
        for (const [key, refusal] of refusals) if (isOver(refusal)) refusals.delete(key);
        refusals.set(keyOf(provider, status === 403 ? model : null), { atMs: clock.now(), why });
      }
    },
    problem(provider, model) {
      const known = refusals.get(keyOf(provider, null)) ?? refusals.get(keyOf(provider, model));
      return known === undefined || isOver(known) ? null : known.why;
    },
  };
}
