// Webhooks and their deliveries.

import type { WebhookId } from '../../core/ids.ts';
import type { DeliveryRecord, DueDelivery, WebhookRecord, WebhookStore } from '../webhook-store.ts';
import { write, type Database, type Reads, type Transaction } from './database.ts';
import { integer, text } from '../rows/columns.ts';
import { deliveryRecord, webhookRecord } from '../rows/principal-records.ts';
import { readable } from '../rows/records.ts';
import { deliveryFor, type WebhookOccasion } from '../rows/webhook-occasion.ts';

const insertWebhook = `
  INSERT INTO webhooks (url, events, description, enabled, webhook_id, principal, secret, created_at)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE (SELECT count(*) FROM webhooks WHERE principal = ?6) < ?9`;
const updateWebhook = 'UPDATE webhooks SET url = ?, events = ?, description = ?, enabled = ? WHERE webhook_id = ?';
const insertDelivery = `
  INSERT INTO deliveries (delivery_id, webhook_id, event, body, attempt, status, created_at, next_attempt_at)
  VALUES (?, ?, ?, ?, ?, 'pending', ?, ?) ON CONFLICT DO NOTHING`;
const settle = `
  UPDATE deliveries SET status = ?, http_status = ?, error = ?, attempted_at = ?, next_attempt_at = ?, claimed_until = NULL
  WHERE delivery_id = ?`;

export function webhookMethods(db: Database): WebhookStore {
  return {
    async addWebhook(record, most) {
      const { webhookId: key, principal, secret, createdAtMs } = record;
      return write(db, insertWebhook, ...changeable(record), key, principal, secret, createdAtMs, most) === 1;
    },
    changeWebhook: async (key, change, at) =>
      db.transaction('durable', (tx) => {
        const current = findWebhook(tx, key);
        if (current === null || (at ?? current.url) !== current.url) return null;
        const record = { ...current, ...change };
        tx.run(updateWebhook, ...changeable(record), key);
        return record;
      }),
    webhook: async (key) => findWebhook(db, key),
    async webhooks(principal) {
      const sql = 'SELECT * FROM webhooks WHERE principal = ? ORDER BY created_at, webhook_id';
      return readable(db.all(sql, principal), webhookRecord);
    },
    deleteWebhook: async (key) =>
      db.transaction('durable', (tx) => {
        tx.run('DELETE FROM deliveries WHERE webhook_id = ?', key);
        return tx.run('DELETE FROM webhooks WHERE webhook_id = ?', key) === 1;
      }),
    async putDelivery({ deliveryId, webhookId: to, event, body, attempt, createdAtMs, nextAttemptAtMs }) {
      write(db, insertDelivery, deliveryId, to, event, JSON.stringify(body), attempt, createdAtMs, nextAttemptAtMs);
    },
    async delivery(deliveryId) {
      const row = db.get('SELECT * FROM deliveries WHERE delivery_id = ?', deliveryId);
      return row === undefined ? null : deliveryRecord(row);
    },
    deliveries: async (key, page) => deliveries(db, key, page),
    async pendingDeliveries() {
      const row = db.get(countPending);
      return row === undefined ? 0 : integer(row, 'pending');
    },
    claimDeliveries: async (due) => db.transaction('durable', (tx) => claim(tx, due)),
    async settleDelivery(deliveryId, { status, httpStatus, error, attemptedAtMs, nextAttemptAtMs }) {
      write(db, settle, status, httpStatus, error, attemptedAtMs, nextAttemptAtMs, deliveryId);
    },
    pruneDeliveries: async (beforeMs) =>
      write(db, 'DELETE FROM deliveries WHERE coalesce(next_attempt_at, attempted_at, created_at) < ?', beforeMs),
  };
}

function findWebhook(db: Reads, key: WebhookId): WebhookRecord | null {
  const row = db.get('SELECT * FROM webhooks WHERE webhook_id = ?', key);
  return row === undefined ? null : webhookRecord(row);
}

/** What a write may set, in the order of the statements. */
function changeable({ url, events, description, enabled }: WebhookRecord) {
  return [url, events === null ? null : JSON.stringify(events), description, enabled ? 1 : 0] as const;
}

function deliveries(
  db: Database,
  key: WebhookId,
  { after, limit }: { readonly after?: string; readonly limit: number },
): readonly DeliveryRecord[] {
  const behind =
    after === undefined
      ? ''
      : 'AND delivery_no < (SELECT delivery_no FROM deliveries WHERE delivery_id = ? AND webhook_id = ?)';
  const sql = `SELECT * FROM deliveries WHERE webhook_id = ? ${behind} ORDER BY delivery_no DESC LIMIT ?`;
  return readable(db.all(sql, key, ...(after === undefined ? [] : [after, key]), limit), deliveryRecord);
}

const selectDue = `
  SELECT deliveries.*, principal FROM deliveries JOIN webhooks USING (webhook_id)
  WHERE next_attempt_at <= ?1 AND (claimed_until IS NULL OR claimed_until <= ?1) AND enabled = 1
    AND webhook_id NOT IN (SELECT value FROM json_each(?2)) AND principal NOT IN (SELECT value FROM json_each(?3))
  ORDER BY next_attempt_at, delivery_no LIMIT ?4`;
const countPending = `
  SELECT count(*) AS pending FROM deliveries JOIN webhooks USING (webhook_id)
  WHERE next_attempt_at IS NOT NULL AND enabled = 1`;

function claim(
  tx: Transaction,
  { nowMs, untilMs, limit, except }: Parameters<WebhookStore['claimDeliveries']>[0],
): readonly DueDelivery[] {
  const full = [except.webhooks, except.principals].map((names) => JSON.stringify(names));
  const due = readable(tx.all(selectDue, nowMs, ...full, limit), (row) => ({
    ...deliveryRecord(row),
    principal: text(row, 'principal'),
  }));
  const take = 'UPDATE deliveries SET attempt = attempt + 1, claimed_until = ? WHERE delivery_id = ?';
  for (const { deliveryId } of due) tx.run(take, untilMs, deliveryId);
  return due.map((delivery) => ({ ...delivery, attempt: delivery.attempt + 1 }));
}

const selectWanting = `
  SELECT webhook_id, run_id, session_id, harness_id FROM webhooks JOIN runs USING (principal)
  WHERE run_no = ?1 AND parent_run_id IS NULL AND enabled = 1
    AND (events IS NULL OR EXISTS (SELECT 1 FROM json_each(events) WHERE value = ?2))`;

/** In the transaction that stores the event. */
export function noteForWebhooks(tx: Transaction, occasion: WebhookOccasion): void {
  for (const row of tx.all(selectWanting, occasion.runNo, occasion.event)) {
    const { deliveryId, webhookId: to, event, body, atMs } = deliveryFor(occasion, row);
    tx.run(insertDelivery, deliveryId, to, event, body, 0, atMs, atMs);
  }
}
