// Webhooks as their principal manages them (UR-40, UR-41). Unknown and another's are one and the same answer (U-042).

import { NotFoundError } from '../core/errors.ts';
import { webhookIds } from '../core/ids.ts';
import { webhookUrl, type WebhookRules } from './webhook-url.ts';
import type { Clock } from '../core/clock.ts';
import type { DeliveryRecord, WebhookEvent, WebhookRecord, WebhookStore } from '../stores/webhook-store.ts';
import type { Random } from '../core/random.ts';
import type { WebhookDelivery } from './deliver-webhooks.ts';

export interface Webhooks {
  readonly store: WebhookStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly rules: WebhookRules;
  readonly delivery: WebhookDelivery;
}

/** What a write sets; absent stays, or is the default: all events, no description, enabled. */
export interface WebhookChange {
  readonly url?: string;
  /** Null: all. */
  readonly events?: readonly WebhookEvent[] | null;
  readonly description?: string | null;
  readonly enabled?: boolean;
}

/** @throws WebhookUrlRefusedError */
export async function createWebhook(
  { store, clock, random, rules }: Webhooks,
  principal: string,
  { url, ...change }: WebhookChange & { readonly url: string },
): Promise<WebhookRecord> {
  webhookUrl(url, rules);
  const record: WebhookRecord = {
    events: null,
    description: null,
    enabled: true,
    ...change,
    url,
    webhookId: webhookIds.make(random.token()),
    principal,
    secret: `whsec_${Buffer.from(random.token() + random.token(), 'hex').toString('base64')}`,
    createdAtMs: clock.now(),
  };
  await store.putWebhook(record);
  return record;
}

/** @throws NotFoundError */
export async function findWebhook({ store }: Webhooks, principal: string, name: string): Promise<WebhookRecord> {
  const id = webhookIds.parse(name);
  const webhook = id === undefined ? null : await store.webhook(id);
  if (webhook === null || webhook.principal !== principal) throw new NotFoundError('webhook');
  return webhook;
}

/** @throws WebhookUrlRefusedError */
export async function changeWebhook(
  webhooks: Webhooks,
  webhook: WebhookRecord,
  change: WebhookChange,
): Promise<WebhookRecord> {
  if (change.url !== undefined) webhookUrl(change.url, webhooks.rules);
  const record = { ...webhook, ...change };
  await webhooks.store.putWebhook(record);
  if (record.enabled) webhooks.delivery.wake();
  return record;
}

/** The newest delivery; null: there was none. */
export async function lastDelivery({ store }: Webhooks, { webhookId }: WebhookRecord): Promise<DeliveryRecord | null> {
  return (await store.deliveries(webhookId, { limit: 1 }))[0] ?? null;
}

/** Sends one event of the type `reins.test` now, whatever the webhook wants, once. */
export async function testWebhook(
  { store, clock, random, delivery }: Webhooks,
  webhook: WebhookRecord,
): Promise<DeliveryRecord> {
  const atMs = clock.now();
  const record: DeliveryRecord = {
    deliveryId: `msg_${random.token()}`,
    webhookId: webhook.webhookId,
    event: 'reins.test',
    body: { type: 'reins.test', timestamp: new Date(atMs).toISOString(), data: { webhook_id: webhook.webhookId } },
    // As if all others had been made: it is not tried again.
    attempt: Number.MAX_SAFE_INTEGER,
    status: 'pending',
    httpStatus: null,
    error: null,
    createdAtMs: atMs,
    attemptedAtMs: null,
    nextAttemptAtMs: null,
  };
  const once = { ...record, attempt: 1 };
  await store.putDelivery(once);
  return { ...(await delivery.attempt(webhook, record)), attempt: 1 };
}
