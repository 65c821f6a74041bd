// Brings stored deliveries to their webhooks (UR-51).
//
// W1. At least once: a delivery is stored with its event, and is done only when that is stored, too. Between the two a crash
//     has it sent again, under the same id.
// W2. A claim is a lease: of several servers one makes an attempt; what a dead one had claimed is free when the lease ends.
// W3. A webhook has a few attempts under way at most, and so have all webhooks of a principal, so that slow receivers delay no
//     other; no task ever waits for one.
// W4. What cannot be delivered is tried again by the schedule, then given up. 410 switches the webhook off.

import { createAttemptPlaces } from './attempt-places.ts';
import { signDelivery } from './sign-delivery.ts';
import { sendDelivery, type Sent } from './send-delivery.ts';
import type { Clock } from '../core/clock.ts';
import type { DeliveryOutcome, DeliveryRecord, DueDelivery, WebhookRecord } from '../stores/webhook-store.ts';
import type { HostRules } from '../net/public-host.ts';
import type { Logger } from '../core/logger.ts';
import type { Store } from '../stores/store.ts';
import type { WebhookRules } from './webhook-url.ts';

export interface WebhookDelivery {
  /** Looks for due deliveries now: something was stored. */
  wake(): void;
  /** Makes its only attempt at once and gives how it went. */
  attempt(webhook: WebhookRecord, delivery: DeliveryRecord): Promise<DeliveryRecord>;
  /** Begins no further attempt; resolves when those under way are settled. Idempotent. */
  stop(): Promise<void>;
}

export interface WebhookDeliveryOptions extends WebhookRules {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly lookup?: HostRules['lookup'];
}

const attemptWithinMs = 10_000;
/** Longer than an attempt may take, and its settling. */
const leaseMs = 30_000;
const lookEveryMs = 1_000;
const underWayMost = 32;
const [second, minute, hour] = [1_000, 60_000, 3_600_000];
const scheduleMs = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
];

export function createWebhookDelivery(options: WebhookDeliveryOptions): WebhookDelivery {
  const { store, clock, logger } = options;
  const stopped = new AbortController();
  const places = createAttemptPlaces();
  const attempts = new Set<Promise<void>>();
  let looking: Promise<void> | null = null;
  let again = false;
  let cancelTimer = () => {};

  async function look(): Promise<void> {
    while (!stopped.signal.aborted && attempts.size < underWayMost) {
      const except = places.taken();
      const nowMs = clock.now();
      // One by one: each may fill up its webhook and its principal.
      const [due] = await store.claimDeliveries({ nowMs, untilMs: nowMs + leaseMs, limit: 1, except });
      if (due === undefined) return;
      begin(due);
    }
  }

  function begin(delivery: DueDelivery): void {
    const { webhookId } = delivery;
    const leave = places.take(delivery);
    const attempt = deliver(delivery)
      .catch((cause: unknown) => logger.error('A webhook delivery failed here.', { webhook_id: webhookId }, cause))
      .finally(() => {
        attempts.delete(attempt);
        leave();
        wake();
      });
    attempts.add(attempt);
  }

  async function deliver(delivery: DeliveryRecord): Promise<void> {
    const webhook = await store.webhook(delivery.webhookId);
    if (webhook === null) return;
    const sent = await send(options, webhook, { delivery, stopped: stopped.signal });
    // Cut off by our own end it says nothing of the receiver: whoever has the lease next tries again.
    if ('error' in sent && stopped.signal.aborted) return;
    await settle(
      webhook,
      delivery.deliveryId,
      outcomeOf(sent, clock.now(), pauseAfter(delivery.attempt, options.random)),
    );
  }

  async function settle(webhook: WebhookRecord, deliveryId: string, outcome: DeliveryOutcome): Promise<void> {
    await store.settleDelivery(deliveryId, outcome);
    if (outcome.httpStatus === 410) await switchOff(webhook);
  }

  async function switchOff({ webhookId, url }: WebhookRecord): Promise<void> {
    if ((await store.changeWebhook(webhookId, { enabled: false }, url)) === null) return;
    logger.warn('A webhook says that it is gone; it was switched off.', { webhook_id: webhookId });
  }

  function wake(): void {
    if (stopped.signal.aborted) return;
    if (looking !== null) return void (again = true);
    cancelTimer();
    looking = look()
      .catch((cause: unknown) => logger.error('Due webhook deliveries could not be read.', {}, cause))
      .finally(() => {
        looking = null;
        const once = again;
        again = false;
        if (once) wake();
        else if (!stopped.signal.aborted) cancelTimer = clock.timer(lookEveryMs, wake);
      });
  }

  wake();
  return {
    wake,
    async attempt(webhook, delivery) {
      const sent = await send(options, webhook, { delivery, stopped: stopped.signal });
      const outcome = outcomeOf(sent, clock.now(), undefined);
      await settle(webhook, delivery.deliveryId, outcome);
      return { ...delivery, ...outcome };
    },
    async stop() {
      stopped.abort();
      cancelTimer();
      await looking;
      await Promise.allSettled(attempts);
    },
  };
}

async function send(
  { clock, allowLoopback, lookup }: WebhookDeliveryOptions,
  { url, secret }: WebhookRecord,
  { delivery, stopped }: { readonly delivery: DeliveryRecord; readonly stopped: AbortSignal },
): Promise<Sent> {
  const late = new AbortController();
  const cancel = clock.timer(attemptWithinMs, () => late.abort());
  try {
    const body = JSON.stringify(delivery.body);
    const headers = signDelivery({ deliveryId: delivery.deliveryId, body, secret, nowMs: clock.now() });
    const signal = AbortSignal.any([late.signal, stopped]);
    return await sendDelivery(url, {
      headers,
      body,
      signal,
      allowLoopback,
      ...(lookup === undefined ? {} : { lookup }),
    });
  } finally {
    cancel();
  }
}

/** Undefined: it was the last attempt. A tenth more or less, so that receivers which come back are not overrun. */
function pauseAfter(attempt: number, random: () => number): number | undefined {
  const pauseMs = scheduleMs[attempt - 1];
  return pauseMs === undefined ? undefined : Math.round(pauseMs * (0.9 + 0.2 * random()));
}

/** @param pauseMs  Until the next attempt, where this one was in vain; undefined: there is none. */
function outcomeOf(sent: Sent, nowMs: number, pauseMs: number | undefined): DeliveryOutcome {
  const httpStatus = 'httpStatus' in sent ? sent.httpStatus : null;
  const isDelivered = httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
  const pause = isDelivered || httpStatus === 410 ? undefined : pauseMs;
  return {
    status: isDelivered ? 'delivered' : pause === undefined ? 'failed' : 'pending',
    httpStatus,
    error: 'error' in sent ? sent.error : isDelivered ? null : `The receiver answered ${httpStatus}.`,
    attemptedAtMs: nowMs,
    nextAttemptAtMs: pause === undefined ? null : nowMs + pause,
  };
}
