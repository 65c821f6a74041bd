import { createWebhookDelivery } from './deliver-webhooks.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { Random } from '../core/random.ts';
import type { RunLog } from '../stores/run-log.ts';
import type { Store } from '../stores/store.ts';
import type { WebhookRules } from './webhook-url.ts';
import type { Webhooks } from './manage-webhooks.ts';

export interface WebhookParts {
  readonly store: Store;
  readonly log: RunLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Webhooks of this process: what is stored here goes out at once, what others store within a second. */
export function openWebhooks({ log, ...parts }: WebhookParts, rules: WebhookRules): Webhooks {
  const { store, clock, random, logger } = parts;
  const delivery = createWebhookDelivery({ store, clock, logger, random: () => random.fraction(), ...rules });
  const wanted = new Set<string>(['run-result', 'approval-required', 'recovery-required']);
  log.onPublish((_runId, events) => {
    if (events.some(({ type }) => wanted.has(type))) delivery.wake();
  });
  return { store, clock, random, rules, delivery };
}
