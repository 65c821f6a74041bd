// Webhooks as their principal manages them (UR-40, UR-41). Unknown and another's are one and the same answer (U-042).

import { NotFoundError, RequestError } from '../core/errors.ts';
import { webhookIds } from '../core/ids.ts';
import { webhookUrl, type WebhookRules } from './webhook-url.ts';
import type { Clock } from '../core/clock.ts';
import type { DeliveryRecord, WebhookChange, WebhookRecord, WebhookStore } from '../stores/webhook-store.ts';
import type { Random } from '../core/random.ts';
import type { WebhookDelivery } from './deliver-webhooks.ts';

export interface Webhooks {
  readonly store: WebhookStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly rules: WebhookRules;
  readonly delivery: WebhookDelivery;
}

/** Each event is stored once for each of them. */
const webhooksMost = 20;

/** 409 `reins_webhook_limit`: one has to go before another can come. */
export class WebhookLimitError extends RequestError {
  constructor() {
    super({
      status: 409,
      errorType: 'invalid_request_error',
      code: 'reins_webhook_limit',
      message: `You have ${webhooksMost} webhooks, and may have no more; delete one first.`,
      detail: { limit: webhooksMost },
    });
  }
}

/**
 * What is absent is the default: all events, no description, enabled.
 * @throws WebhookUrlRefusedError, WebhookLimitError
 */
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
  if (!(await store.addWebhook(record, webhooksMost))) throw new WebhookLimitError();
  return record;
}

/** @throws NotFoundError */
export async function findWebhook({ store }: Webhooks, principal: string, name: string): Promise<WebhookRecord> {
  const id = webhookIds.parse(name);
  const webhook = id === undefined ? null : await store.webhook(id);
  if (webhook === null || webhook.principal !== principal) throw new NotFoundError('webhook');
  return webhook;
}

/** What is absent stays as it is when this is stored. @throws WebhookUrlRefusedError, NotFoundError */
export async function changeWebhook(
  webhooks: Webhooks,
  { webhookId }: WebhookRecord,
  change: WebhookChange,
): Promise<WebhookRecord> {
  if (change.url !== undefined) webhookUrl(change.url, webhooks.rules);
  const record = await webhooks.store.changeWebhook(webhookId, change);
  if (record === null) throw new NotFoundError('webhook');
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
    attempt: 1,
    status: 'pending',
    httpStatus: null,
    error: null,
    createdAtMs: atMs,
    attemptedAtMs: null,
    nextAttemptAtMs: null,
  };
  await store.putDelivery(record);
  return delivery.attempt(webhook, record);
}
