import { RequestError } from '../core/errors.ts';
import type { RunSlot } from './run-slots.ts';
import type { Services } from './services.ts';

/**
 * A new task's place among those at work, or in the queue for one.
 * @param isFull  Nor may more wait for its harness.
 * @throws RequestError  503: the queue is full (UD-59).
 */
export function takeSlot({ runs }: Services, isFull: boolean): RunSlot {
  const slot = isFull ? null : runs.slots.take();
  if (slot !== null) return slot;
  throw new RequestError({
    status: 503,
    errorType: 'server_error',
    code: 'harness_unavailable',
    message: 'As many tasks wait here as may; nothing was started.',
    headers: { 'Retry-After': '5' },
  });
}
