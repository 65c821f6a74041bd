// Webhooks and what is on its way to them (UR-40, UR-51).

import type { JsonObject } from '../core/json.ts';
import type { WebhookId } from '../core/ids.ts';

export const webhookEvents = [
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'reins.approval_required',
  'reins.recovery_required',
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

export interface WebhookRecord {
  readonly webhookId: WebhookId;
  readonly principal: string;
  readonly url: string;
  /** Null: all. */
  readonly events: readonly WebhookEvent[] | null;
  readonly description: string | null;
  readonly enabled: boolean;
  /** `whsec_` and 32 bytes in base64. */
  readonly secret: string;
  readonly createdAtMs: number;
}

/** What a change sets; absent stays. */
export type WebhookChange = Partial<Pick<WebhookRecord, 'url' | 'events' | 'description' | 'enabled'>>;

export interface DeliveryRecord {
  /** The same over all attempts: the receiver's idempotency key. */
  readonly deliveryId: string;
  readonly webhookId: WebhookId;
  readonly event: WebhookEvent | 'reins.test';
  readonly body: JsonObject;
  /** Attempts made so far. */
  readonly attempt: number;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly createdAtMs: number;
  /** Of the newest attempt. */
  readonly attemptedAtMs: number | null;
  /** Null: none will follow. */
  readonly nextAttemptAtMs: number | null;
}

/** One that shall be tried now, for whom. */
export interface DueDelivery extends DeliveryRecord {
  readonly principal: string;
}

/** How an attempt went. */
export type DeliveryOutcome = Pick<
  DeliveryRecord,
  'status' | 'httpStatus' | 'error' | 'attemptedAtMs' | 'nextAttemptAtMs'
>;

/**
 * Deliveries of a run's events are stored in the transaction that stores these (UR-51): the end of a run, an approval that is
 * asked for, a recovery; of runs that work for nobody else, to enabled webhooks of their principal that want them.
 */
export interface WebhookStore {
  /** False: its principal has `most` already; nothing was stored. */
  addWebhook(record: WebhookRecord, most: number): Promise<boolean>;
  /**
   * As it is then; null: there is none, or none `at` that url any more, and nothing was stored. What others set meanwhile stays.
   */
  changeWebhook(webhookId: WebhookId, change: WebhookChange, at?: string): Promise<WebhookRecord | null>;
  webhook(webhookId: WebhookId): Promise<WebhookRecord | null>;
  webhooks(principal: string): Promise<readonly WebhookRecord[]>;
  /** With its deliveries. False: there is none. */
  deleteWebhook(webhookId: WebhookId): Promise<boolean>;
  putDelivery(record: DeliveryRecord): Promise<void>;
  delivery(deliveryId: string): Promise<DeliveryRecord | null>;
  /** Newest first; those behind `after`. */
  deliveries(
    webhookId: WebhookId,
    page: { readonly after?: string; readonly limit: number },
  ): Promise<readonly DeliveryRecord[]>;
  /** Due ones of enabled webhooks, oldest first, that nobody else gets until `untilMs`. Each counts as an attempt. */
  claimDeliveries(due: {
    readonly nowMs: number;
    readonly untilMs: number;
    readonly limit: number;
    /** Whose shall not be among them: they have enough under way. */
    readonly except: { readonly webhooks: readonly WebhookId[]; readonly principals: readonly string[] };
  }): Promise<readonly DueDelivery[]>;
  /** How many are still to be made, to enabled webhooks. */
  pendingDeliveries(): Promise<number>;
  settleDelivery(deliveryId: string, outcome: DeliveryOutcome): Promise<void>;
  /** Forgets deliveries that were settled before, or due before and not tried since: their webhook is switched off. */
  pruneDeliveries(beforeMs: number): Promise<number>;
}
