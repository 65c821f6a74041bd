// What webhooks may want to hear of a run, and the delivery that it becomes (UR-51).

import { createHash } from 'node:crypto';
import type { JsonObject } from '../../core/json.ts';
import type { Append, UnnumberedEvent } from '../store.ts';
import type { WebhookEvent } from '../webhook-store.ts';
import { text, type Fields } from './columns.ts';
import { webhookId } from './principal-records.ts';

export interface WebhookOccasion {
  readonly runNo: number;
  readonly event: WebhookEvent;
  /** Tells occasions of one run apart. */
  readonly name: string;
  readonly atMs: number;
  readonly data: JsonObject;
}

const endings = ['completed', 'incomplete', 'failed', 'cancelled'] as const;

export function endOccasion(runNo: number, { status, response, atMs }: NonNullable<Append['end']>): WebhookOccasion {
  const shown = endings.find((known) => known === response?.['status']) ?? status;
  return { runNo, event: `response.${shown}`, name: 'end', atMs, data: { status: shown } };
}

type Request = Extract<UnnumberedEvent, { type: 'approval-required' | 'recovery-required' }>;

export function requestOccasion(runNo: number, { type, at, data }: Request): WebhookOccasion {
  const event = type === 'approval-required' ? 'reins.approval_required' : 'reins.recovery_required';
  return {
    runNo,
    event,
    name: data.approvalId,
    atMs: at,
    data: { status: 'in_progress', approval_id: data.approvalId },
  };
}

/** For one webhook. The id is made from the event, so that one event is one delivery to each. @param row  Ids of the webhook and of the run's place. */
export function deliveryFor({ event, name, atMs, data }: WebhookOccasion, row: Fields) {
  const to = webhookId(row, 'webhook_id');
  const run = text(row, 'run_id');
  const token = createHash('sha256').update(`${to}\n${run}\n${name}`).digest('hex').slice(0, 32);
  const place = { response_id: run, session_id: text(row, 'session_id'), harness_id: text(row, 'harness_id') };
  const body = { type: event, timestamp: new Date(atMs).toISOString(), data: { ...place, ...data } };
  return { deliveryId: `msg_${token}`, webhookId: to, event, body: JSON.stringify(body), atMs };
}
