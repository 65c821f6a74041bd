// What belongs to a principal, as rows have it.

import { keyIds, webhookIds } from '../../core/ids.ts';
import type { AuditEntry, KeyRecord } from '../principal-store.ts';
import { webhookEvents, type DeliveryRecord, type WebhookRecord } from '../webhook-store.ts';
import { flag, id, integer, jsonObject, nullable, oneOf, strings, text, type Fields } from './columns.ts';

export const keyId = id(keyIds);
export const webhookId = id(webhookIds);

export function keyRecord(row: Fields): KeyRecord {
  return {
    keyId: keyId(row, 'key_id'),
    principal: text(row, 'principal'),
    name: nullable(row, 'name', text),
    hash: text(row, 'hash'),
    scopes: strings(row, 'scopes'),
    createdAtMs: integer(row, 'created_at'),
    revokedAtMs: nullable(row, 'revoked_at', integer),
  };
}

export function auditEntry(row: Fields): AuditEntry {
  return {
    entryId: text(row, 'entry_id'),
    atMs: integer(row, 'at'),
    principal: text(row, 'principal'),
    keyId: text(row, 'key_id'),
    action: text(row, 'action'),
    object: text(row, 'object'),
    requestId: text(row, 'request_id'),
  };
}

export function webhookRecord(row: Fields): WebhookRecord {
  const events = nullable(row, 'events', strings);
  return {
    webhookId: webhookId(row, 'webhook_id'),
    principal: text(row, 'principal'),
    url: text(row, 'url'),
    events: events === null ? null : webhookEvents.filter((event) => events.includes(event)),
    description: nullable(row, 'description', text),
    enabled: flag(row, 'enabled'),
    secret: text(row, 'secret'),
    createdAtMs: integer(row, 'created_at'),
  };
}

export function deliveryRecord(row: Fields): DeliveryRecord {
  return {
    deliveryId: text(row, 'delivery_id'),
    webhookId: webhookId(row, 'webhook_id'),
    event: oneOf(row, 'event', [...webhookEvents, 'reins.test']),
    body: jsonObject(row, 'body'),
    attempt: integer(row, 'attempt'),
    status: oneOf(row, 'status', ['pending', 'delivered', 'failed']),
    httpStatus: nullable(row, 'http_status', integer),
    error: nullable(row, 'error', text),
    createdAtMs: integer(row, 'created_at'),
    attemptedAtMs: nullable(row, 'attempted_at', integer),
    nextAttemptAtMs: nullable(row, 'next_attempt_at', integer),
  };
}
