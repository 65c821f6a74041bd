// Webhooks and their deliveries.

import type { WebhookId } from '../../core/ids.ts';
import { integer, text } from '../rows/columns.ts';
import { deliveryRecord, webhookRecord } from '../rows/principal-records.ts';
import { readable } from '../rows/records.ts';
import { deliveryFor, type WebhookOccasion } from '../rows/webhook-occasion.ts';
import type { DeliveryRecord, DueDelivery, WebhookRecord, WebhookStore } from '../webhook-store.ts';
import { allOf, lockName, write, type Database, type Reads, type Transaction } from './database.ts';

const insertWebhook = `
  INSERT INTO webhooks (url, events, description, enabled, webhook_id, principal, secret, created_at)
  SELECT $1, $2::jsonb, $3, $4::boolean, $5, $6::text, $7, $8::bigint
  WHERE (SELECT count(*) FROM webhooks WHERE principal = $6) < $9::bigint`;
const updateWebhook =
  'UPDATE webhooks SET url = $1, events = $2::jsonb, description = $3, enabled = $4 WHERE webhook_id = $5';
const insertDelivery = `
  INSERT INTO deliveries (delivery_id, webhook_id, event, body, attempt, status, created_at, next_attempt_at)
  VALUES ($1, $2, $3, $4, $5, 'pending', $6, $7) ON CONFLICT DO NOTHING`;
const settle = `
  UPDATE deliveries SET status = $1, http_status = $2, error = $3, attempted_at = $4, next_attempt_at = $5,
    claimed_until = NULL
  WHERE delivery_id = $6`;

export function webhookMethods(db: Database): WebhookStore {
  return {
    async addWebhook(record, most) {
      const { webhookId: key, principal, secret, createdAtMs } = record;
      return db.transaction('durable', async (tx) => {
        await lockName(tx, 'webhooks', principal);
        return (await tx.run(insertWebhook, ...changeable(record), key, principal, secret, createdAtMs, most)) === 1;
      });
    },
    changeWebhook: (key, change, at) =>
      db.transaction('durable', async (tx) => {
        const current = await findWebhook(tx, key, 'FOR UPDATE');
        if (current === null || (at ?? current.url) !== current.url) return null;
        const record = { ...current, ...change };
        await tx.run(updateWebhook, ...changeable(record), key);
        return record;
      }),
    webhook: (key) => findWebhook(db, key),
    async webhooks(principal) {
      const sql = 'SELECT * FROM webhooks WHERE principal = $1 ORDER BY created_at, webhook_id';
      return readable(await db.all(sql, principal), webhookRecord);
    },
    deleteWebhook: (key) =>
      db.transaction('durable', async (tx) => {
        // First, so that nobody can add a delivery between the two.
        if ((await findWebhook(tx, key, 'FOR UPDATE')) === null) return false;
        await tx.run('DELETE FROM deliveries WHERE webhook_id = $1', key);
        return (await tx.run('DELETE FROM webhooks WHERE webhook_id = $1', key)) === 1;
      }),
    async putDelivery({ deliveryId, webhookId: to, event, body, attempt, createdAtMs, nextAttemptAtMs }) {
      const facts = [deliveryId, to, event, JSON.stringify(body), attempt, createdAtMs, nextAttemptAtMs];
      await write(db, insertDelivery, ...facts);
    },
    async delivery(deliveryId) {
      const row = await db.get('SELECT * FROM deliveries WHERE delivery_id = $1', deliveryId);
      return row === undefined ? null : deliveryRecord(row);
    },
    deliveries: (key, page) => deliveries(db, key, page),
    async pendingDeliveries() {
      const row = await db.get(countPending);
      return row === undefined ? 0 : integer(row, 'pending');
    },
    async claimDeliveries(due) {
      // Asked for after each task, and nearly always there is none: a transaction would be synced for nothing.
      const isDue = await db.get(`SELECT 1 ${whatIsDue} LIMIT 1`, ...whoseIsDue(due));
      return isDue === undefined ? [] : db.transaction('durable', (tx) => claim(tx, due));
    },
    async settleDelivery(deliveryId, { status, httpStatus, error, attemptedAtMs, nextAttemptAtMs }) {
      await write(db, settle, status, httpStatus, error, attemptedAtMs, nextAttemptAtMs, deliveryId);
    },
    pruneDeliveries: (beforeMs) => pruneDeliveries(db, beforeMs),
  };
}

async function findWebhook(db: Reads, key: WebhookId, lock: 'FOR UPDATE' | '' = ''): Promise<WebhookRecord | null> {
  const row = await db.get(`SELECT * FROM webhooks WHERE webhook_id = $1 ${lock}`, key);
  return row === undefined ? null : webhookRecord(row);
}

/** What a write may set, in the order of the statements. */
function changeable({ url, events, description, enabled }: WebhookRecord) {
  return [url, events === null ? null : JSON.stringify(events), description, enabled] as const;
}

async function deliveries(
  db: Reads,
  key: WebhookId,
  { after, limit }: { readonly after?: string; readonly limit: number },
): Promise<readonly DeliveryRecord[]> {
  const { where, values } = allOf([
    { sql: 'webhook_id = ?', value: key },
    {
      sql: 'delivery_no < (SELECT delivery_no FROM deliveries WHERE delivery_id = ? AND webhook_id = $1)',
      value: after,
    },
  ]);
  const sql = `SELECT * FROM deliveries WHERE ${where} ORDER BY delivery_no DESC LIMIT $${values.length + 1}`;
  return readable(await db.all(sql, ...values, limit), deliveryRecord);
}

const whatIsDue = `
  FROM deliveries JOIN webhooks USING (webhook_id)
  WHERE next_attempt_at <= $1 AND (claimed_until IS NULL OR claimed_until <= $1) AND enabled
    AND webhook_id <> ALL($2::text[]) AND principal <> ALL($3::text[])`;
const selectDue = `
  SELECT deliveries.*, principal ${whatIsDue}
  ORDER BY next_attempt_at, delivery_no LIMIT $4 FOR UPDATE OF deliveries SKIP LOCKED`;
const countPending = `
  SELECT count(*) AS pending FROM deliveries JOIN webhooks USING (webhook_id)
  WHERE next_attempt_at IS NOT NULL AND enabled`;

type Due = Parameters<WebhookStore['claimDeliveries']>[0];

/** The values of `whatIsDue`. */
function whoseIsDue({ nowMs, except }: Due) {
  return [nowMs, except.webhooks, except.principals] as const;
}

async function claim(tx: Transaction, asked: Due): Promise<readonly DueDelivery[]> {
  const due = readable(await tx.all(selectDue, ...whoseIsDue(asked), asked.limit), (row) => ({
    ...deliveryRecord(row),
    principal: text(row, 'principal'),
  }));
  const take = 'UPDATE deliveries SET attempt = attempt + 1, claimed_until = $1 WHERE delivery_id = ANY($2::text[])';
  const ids = due.map(({ deliveryId }) => deliveryId);
  if (ids.length > 0) await tx.run(take, asked.untilMs, ids);
  return due.map((delivery) => ({ ...delivery, attempt: delivery.attempt + 1 }));
}

/** By number, which is nearly by age: so no index is needed by what was last done to one, and no page is large. */
const prunePage = `
  WITH page AS MATERIALIZED (
    SELECT delivery_no, created_at FROM deliveries WHERE delivery_no > $1 ORDER BY delivery_no LIMIT 1000),
  gone AS (
    DELETE FROM deliveries WHERE delivery_no IN (SELECT delivery_no FROM page)
      AND coalesce(next_attempt_at, attempted_at, created_at) < $2 RETURNING 1)
  SELECT max(delivery_no) AS last, min(created_at) AS oldest, (SELECT count(*) FROM gone) AS gone FROM page`;

async function pruneDeliveries(db: Database, beforeMs: number): Promise<number> {
  let gone = 0;
  for (let after = 0; ;) {
    const from = after;
    const page = await db.transaction('fast', (tx) => tx.get(prunePage, from, beforeMs), 'long');
    if (page === undefined || page['last'] === null) return gone;
    gone += integer(page, 'gone');
    // Nothing of a later page was made earlier than all of this one.
    if (integer(page, 'oldest') >= beforeMs) return gone;
    after = integer(page, 'last');
  }
}

/** Locked, so that none is deleted until its delivery is there. */
const selectWanting = `
  SELECT webhook_id, run_id, session_id, harness_id, place
  FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (run_no, event, place)
    JOIN runs USING (run_no) JOIN webhooks USING (principal)
  WHERE parent_run_id IS NULL AND enabled AND (events IS NULL OR events ? asked.event)
  ORDER BY webhook_id, place FOR KEY SHARE OF webhooks`;

/** In the transaction that stores the events. */
export async function noteForWebhooks(tx: Transaction, occasions: readonly WebhookOccasion[]): Promise<void> {
  const asked = [occasions.map(({ runNo }) => runNo), occasions.map(({ event }) => event)] as const;
  for (const row of await tx.all(selectWanting, ...asked)) {
    const occasion = occasions[integer(row, 'place') - 1];
    if (occasion === undefined) continue;
    const { deliveryId, webhookId: to, event, body, atMs } = deliveryFor(occasion, row);
    await tx.run(insertDelivery, deliveryId, to, event, body, 0, atMs, atMs);
  }
}
