import type { EventDraft } from '../core/run-event.ts';

/** What the fields of an event take beside its data, stored or in memory. */
const envelope = 64;

/** About the bytes that an event takes. For bounds only: counting exactly would cost as much as encoding. */
export function weighEvent({ data }: Pick<EventDraft, 'data'>): number {
  return envelope + weigh(data);
}

function weigh(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 4;
  let sum = 2;
  if (Array.isArray(value)) for (const item of value) sum += 1 + weigh(item);
  else for (const [key, item] of Object.entries(value)) sum += key.length + 4 + weigh(item);
  return sum;
}
