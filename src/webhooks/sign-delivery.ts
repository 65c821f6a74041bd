import { createHmac } from 'node:crypto';

export interface SignedDelivery {
  readonly deliveryId: string;
  readonly body: string;
  /** `whsec_` and the key in base64. */
  readonly secret: string;
  readonly nowMs: number;
}

/** The headers of one attempt, by the Standard Webhooks rules (UR-50): the id stays the same over all attempts. */
export function signDelivery({ deliveryId, body, secret, nowMs }: SignedDelivery): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${deliveryId}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json; charset=utf-8',
    'webhook-id': deliveryId,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}
