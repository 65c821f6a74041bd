import { addUsage, type Usage } from '../../core/usage.ts';
import { dollarsOf, type TokenPrices } from '../../core/cost.ts';
import type { FailureClass } from '../../core/provider-failure.ts';
import type { RelayFact } from './relay-fact.ts';
import type { RelayProvider } from './routes.ts';

/** A model call that is over: all that its facts have told, in one. */
export interface RelayedCall {
  readonly provider: RelayProvider;
  readonly request: number;
  /** As asked for, by the provider's own name; null: none was named. */
  readonly model: string | null;
  readonly how: Extract<RelayFact, { at: 'ended' }>['how'];
  /** What the provider's error status means; null: it gave none. */
  readonly failure: FailureClass | null;
  /** The provider's own; null: it has not answered. */
  readonly status: number | null;
  readonly usage: Usage | null;
  /** Null: no usage is known. */
  readonly dollars: number | null;
}

/** Of a model by its provider's own name; null: unknown. */
export type PriceOf = (provider: RelayProvider, model: string) => TokenPrices | null;

/** Makes one call of its facts, which may come mixed with those of others (H-203): null until it has ended. */
export function createCallLedger(provider: RelayProvider, priceOf: PriceOf): (fact: RelayFact) => RelayedCall | null {
  const open = new Map<number, Omit<RelayedCall, 'provider' | 'how' | 'dollars' | 'request'>>();
  return (fact) => {
    const { request } = fact;
    const known = open.get(request) ?? { model: null, failure: null, status: null, usage: null };
    switch (fact.at) {
      case 'asked':
        open.set(request, { ...known, model: fact.model });
        return null;
      case 'answered':
        open.set(request, { ...known, status: fact.status, failure: fact.failure ?? null });
        return null;
      case 'usage':
        open.set(request, { ...known, usage: addUsage(known.usage, fact.usage) });
        return null;
      case 'byte':
      case 'served':
        return null;
      case 'ended': {
        open.delete(request);
        const prices = known.model === null ? null : priceOf(provider, known.model);
        const dollars = known.usage === null ? null : dollarsOf(known.usage, prices);
        return { ...known, provider, request, how: fact.how, dollars };
      }
    }
  };
}
