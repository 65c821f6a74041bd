// Webhooks over HTTP: UR-40, UR-41.

import {
  changeWebhook,
  createWebhook,
  findWebhook,
  lastDelivery,
  testWebhook,
  type Webhooks,
} from '../../webhooks/manage-webhooks.ts';
import { InvalidInputError } from '../../core/errors.ts';
import { idOf, type Call, type Route } from '../route.ts';
import { pageOf } from '../request-fields.ts';
import { parseNewWebhook, parseWebhook, toUhpDelivery, toUhpWebhook } from '../../protocol/uhp/webhook.ts';

export function webhookRoutes(webhooks: Webhooks): readonly Route[] {
  return [
    {
      path: '/v1/reins/webhooks',
      verbs: {
        GET: {
          scope: 'admin',
          async handle({ caller }) {
            const records = await webhooks.store.webhooks(caller.principal);
            const wire = records.map(async (record) => toUhpWebhook(record, await lastDelivery(webhooks, record)));
            return { webhooks: await Promise.all(wire) };
          },
        },
        POST: {
          scope: 'admin',
          audit: 'webhook.create',
          async handle({ caller, request }) {
            const record = await createWebhook(webhooks, caller.principal, parseNewWebhook(request.body));
            return { ...toUhpWebhook(record, null), secret: record.secret };
          },
        },
      },
    },
    {
      path: '/v1/reins/webhooks/:id',
      verbs: {
        GET: {
          scope: 'admin',
          async handle(call) {
            const record = await findWebhook(webhooks, call.caller.principal, idOf(call));
            return toUhpWebhook(record, await lastDelivery(webhooks, record));
          },
        },
        PUT: {
          scope: 'admin',
          audit: 'webhook.update',
          async handle(call) {
            const change = parseWebhook(call.request.body);
            const webhook = await findWebhook(webhooks, call.caller.principal, idOf(call));
            const record = await changeWebhook(webhooks, webhook, change);
            return toUhpWebhook(record, await lastDelivery(webhooks, record));
          },
        },
        DELETE: {
          scope: 'admin',
          audit: 'webhook.delete',
          async handle(call) {
            const { webhookId } = await findWebhook(webhooks, call.caller.principal, idOf(call));
            await webhooks.store.deleteWebhook(webhookId);
            return { id: webhookId, deleted: true };
          },
        },
      },
    },
    {
      path: '/v1/reins/webhooks/:id/test',
      verbs: {
        POST: {
          scope: 'admin',
          async handle(call) {
            const webhook = await findWebhook(webhooks, call.caller.principal, idOf(call));
            return toUhpDelivery(await testWebhook(webhooks, webhook));
          },
        },
      },
    },
    {
      path: '/v1/reins/webhooks/:id/deliveries',
      verbs: {
        GET: {
          scope: 'admin',
          handle: (call) => listDeliveries(webhooks, call),
        },
      },
    },
  ];
}

async function listDeliveries(webhooks: Webhooks, call: Call): Promise<unknown> {
  const { limit, cursor } = pageOf(call);
  const { webhookId } = await findWebhook(webhooks, call.caller.principal, idOf(call));
  if (cursor !== null && (await webhooks.store.delivery(cursor))?.webhookId !== webhookId)
    throw new InvalidInputError('This cursor is none that this list gave.', 'cursor');
  const after = cursor === null ? {} : { after: cursor };
  const found = await webhooks.store.deliveries(webhookId, { ...after, limit: limit + 1 });
  const page = found.slice(0, limit);
  const next = found.length > limit ? (page.at(-1)?.deliveryId ?? null) : null;
  return { deliveries: page.map(toUhpDelivery), next_cursor: next };
}
