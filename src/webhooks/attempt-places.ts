import type { DueDelivery, WebhookStore } from '../stores/webhook-store.ts';
import type { WebhookId } from '../core/ids.ts';

/** Attempts that are under way, so that slow receivers keep no place from others. */
export interface AttemptPlaces {
  /** Whose places are all taken. */
  taken(): Parameters<WebhookStore['claimDeliveries']>[0]['except'];
  /** Takes one; the function gives it back, once. */
  take(delivery: DueDelivery): () => void;
}

const mostOfPrincipal = 8;
const mostOfWebhook = 3;

export function createAttemptPlaces(): AttemptPlaces {
  const ofWebhooks = new Map<WebhookId, number>();
  const ofPrincipals = new Map<string, number>();
  return {
    taken: () => ({
      webhooks: withMost(ofWebhooks, mostOfWebhook),
      principals: withMost(ofPrincipals, mostOfPrincipal),
    }),
    take({ webhookId, principal }) {
      count(ofWebhooks, webhookId, 1);
      count(ofPrincipals, principal, 1);
      return () => {
        count(ofWebhooks, webhookId, -1);
        count(ofPrincipals, principal, -1);
      };
    },
  };
}

function withMost<K>(counts: ReadonlyMap<K, number>, most: number): readonly K[] {
  return [...counts].filter(([, taken]) => taken >= most).map(([key]) => key);
}

function count<K>(counts: Map<K, number>, key: K, by: 1 | -1): void {
  const taken = (counts.get(key) ?? 0) + by;
  if (taken === 0) counts.delete(key);
  else counts.set(key, taken);
}
