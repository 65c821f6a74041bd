// Samples of what principals manage, for store tests.

import { fileIds, keyIds, shareIds, webhookIds, type SessionId, type WebhookId } from '../core/ids.ts';
import type { EventDraft } from '../core/run-event.ts';
import type { FileRecord } from '../stores/file-store.ts';
import type { AuditEntry } from '../stores/principal-store.ts';
import type { ShareRecord } from '../stores/session-store.ts';
import type { DeliveryOutcome, DeliveryRecord, WebhookRecord } from '../stores/webhook-store.ts';

/** The artifact `name`, as the check of a workspace finds it at `path`. */
export function fileDraft(
  name: string,
  path: string,
  kind: 'create' | 'modify' | 'delete' = 'create',
): Extract<EventDraft, { type: 'file-changed' }> {
  const data = { kind, path, bytes: path.length, sha256: `hash of ${name}`, fileId: fileIds.make(name) };
  return { type: 'file-changed', step: 1, attempt: 0, data };
}

export function uploadOf(name: string, change: Partial<FileRecord> = {}): FileRecord {
  return {
    fileId: fileIds.make(name),
    principal: 'owner',
    sessionId: null,
    runId: null,
    filename: `${name}.txt`,
    mediaType: 'text/plain',
    bytes: 3,
    sha256: `hash of ${name}`,
    createdAtMs: 1_000,
    removed: false,
    ...change,
  };
}

export function shareOf(name: string, sessionId: SessionId): ShareRecord {
  return { shareId: shareIds.make(name), sessionId, secret: `secret of ${name}`, createdAtMs: 2_000 };
}

export function auditOf(name: string, change: Partial<AuditEntry> = {}): AuditEntry {
  return {
    entryId: name,
    atMs: 1_000,
    principal: 'owner',
    keyId: keyIds.make('one'),
    action: 'key.create',
    object: `key_${name}`,
    requestId: `req_${name}`,
    ...change,
  };
}

export function webhookOf(name: string, change: Partial<WebhookRecord> = {}): WebhookRecord {
  return {
    webhookId: webhookIds.make(name),
    principal: 'owner',
    url: `https://example.com/${name}`,
    events: null,
    description: null,
    enabled: true,
    secret: 'whsec_secret',
    createdAtMs: 1_000,
    ...change,
  };
}

/** One that is due at once. */
export function deliveryOf(name: string, webhookId: WebhookId, change: Partial<DeliveryRecord> = {}): DeliveryRecord {
  return {
    deliveryId: name,
    webhookId,
    event: 'reins.test',
    body: { type: 'reins.test' },
    attempt: 0,
    status: 'pending',
    httpStatus: null,
    error: null,
    createdAtMs: 1_000,
    attemptedAtMs: null,
    nextAttemptAtMs: 1_000,
    ...change,
  };
}

export const delivered: DeliveryOutcome = {
  status: 'delivered',
  httpStatus: 204,
  error: null,
  attemptedAtMs: 2_000,
  nextAttemptAtMs: null,
};
