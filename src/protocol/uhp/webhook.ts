import * as z from 'zod';
import { checkFields, readBody } from './parse-body.ts';
import { InvalidInputError } from '../../core/errors.ts';

/** Of deliveries: what a webhook may ask for (UR-50). */
export const webhookEventTypes = [
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
  'reins.approval_required',
  'reins.recovery_required',
] as const;
export type WebhookEventType = (typeof webhookEventTypes)[number];

export const webhookBody = z.looseObject({
  url: z.string('must be a string').nullish(),
  events: z
    .array(z.enum(webhookEventTypes, `must be one of ${webhookEventTypes.join(', ')}`), 'must be a list of event types')
    .min(1, 'must name at least one; leave it out for all of them')
    .nullish(),
  description: z.string('must be a string').max(500, 'may have at most 500 characters').nullish(),
  enabled: z.boolean('must be true or false').nullish(),
});

export interface WebhookWrite {
  readonly url?: string;
  readonly events?: readonly WebhookEventType[] | null;
  readonly description?: string | null;
  readonly enabled?: boolean;
}

/** What a create or an update sets: absent keys stay, `null` clears (UR-40). @throws InvalidInputError */
export function parseWebhook(body: unknown): WebhookWrite {
  const { url, events, description, enabled } = checkFields(webhookBody, readBody(body));
  return {
    ...(url === undefined || url === null ? {} : { url }),
    ...(events === undefined ? {} : { events }),
    ...(description === undefined ? {} : { description }),
    ...(enabled === undefined || enabled === null ? {} : { enabled }),
  };
}

/** @throws InvalidInputError  A new webhook needs to say where it is. */
export function parseNewWebhook(body: unknown): WebhookWrite & { readonly url: string } {
  const write = parseWebhook(body);
  if (write.url === undefined) throw new InvalidInputError('url is required.', 'url');
  return { ...write, url: write.url };
}

export type UhpDelivery = {
  readonly id: string;
  readonly event: string;
  readonly attempt: number;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly http_status: number | null;
  readonly error: string | null;
  /** Unix seconds, of the newest attempt; before the first, of its making. */
  readonly at: number;
  readonly next_attempt_at: number | null;
};

export type UhpWebhook = {
  readonly id: string;
  readonly object: 'reins.webhook';
  readonly url: string;
  /** Null: all. */
  readonly events: readonly string[] | null;
  readonly description: string | null;
  readonly enabled: boolean;
  readonly created_at: number;
  readonly last_delivery: UhpDelivery | null;
  /** Shown once, by the answer that made it. */
  readonly secret?: string;
};

export interface DeliveryFacts {
  readonly deliveryId: string;
  readonly event: string;
  readonly attempt: number;
  readonly status: UhpDelivery['status'];
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly createdAtMs: number;
  readonly attemptedAtMs: number | null;
  readonly nextAttemptAtMs: number | null;
}

export interface WebhookFacts {
  readonly webhookId: string;
  readonly url: string;
  readonly events: readonly string[] | null;
  readonly description: string | null;
  readonly enabled: boolean;
  readonly createdAtMs: number;
}

export function toUhpDelivery(facts: DeliveryFacts): UhpDelivery {
  const { deliveryId, event, attempt, status, httpStatus, error, nextAttemptAtMs } = facts;
  return {
    id: deliveryId,
    event,
    attempt,
    status,
    http_status: httpStatus,
    error,
    at: seconds(facts.attemptedAtMs ?? facts.createdAtMs),
    next_attempt_at: nextAttemptAtMs === null ? null : seconds(nextAttemptAtMs),
  };
}

export function toUhpWebhook(facts: WebhookFacts, last: DeliveryFacts | null): UhpWebhook {
  const { webhookId, url, events, description, enabled, createdAtMs } = facts;
  return {
    id: webhookId,
    object: 'reins.webhook',
    url,
    events,
    description,
    enabled,
    created_at: seconds(createdAtMs),
    last_delivery: last === null ? null : toUhpDelivery(last),
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}
