import { backoffOf, isTransient } from './retrying.ts';
import { ConnectionError } from './errors.ts';
import { textOf } from './loose.ts';
import { parseEvent, type TaskEvent } from './parse-event.ts';
import { path } from './transport.ts';
import { pause, settleWithin } from './settle-within.ts';
import { readMessages } from './read-messages.ts';
import type { ClientParts } from './client-parts.ts';
import type { VerbOptions } from './shapes.ts';

/** An event of any task of a harness. Numbers count in each task for itself. */
export type FeedEvent = TaskEvent & { readonly response_id: string; readonly session_id: string };

export interface FeedOptions extends VerbOptions {
  /** The feed was lost and is there again. What came in between is not in it: attach to the tasks that you follow (UD-79). */
  readonly onReconnect?: () => void;
}

/**
 * What happens on a harness from now on, without an end of its own: until the loop is left, or the signal aborts.
 * @throws UhpError  Refused, or not to be had any more after all tries.
 */
export async function* followFeed(
  parts: ClientParts,
  harnessId: string,
  { signal, onReconnect }: FeedOptions = {},
): AsyncGenerator<FeedEvent, void> {
  let [failures, openings] = [0, 0];
  for (;;) {
    const connection = new AbortController();
    const any = signal === undefined ? connection.signal : AbortSignal.any([signal, connection.signal]);
    const limits = { clock: parts.clock, ms: parts.inactivityMs, signal: any };
    try {
      const call = { path: path`/v1/harnesses/${harnessId}/events`, signal: any };
      const { body } = await settleWithin(parts.transport.send(call), limits);
      if (openings++ > 0) onReconnect?.();
      if (body !== null)
        for await (const data of readMessages(body, { ...limits, onBytes: () => (failures = 0) })) {
          const event = parseEvent(data)?.event ?? null;
          if (event !== null && isFeedEvent(event)) yield event;
        }
      throw new ConnectionError('The feed ended.');
    } catch (error) {
      if (signal?.aborted) return;
      if (!isTransient(error) || ++failures >= parts.maxAttempts) throw error;
      await pause(parts.clock, backoffOf(parts, failures, error), signal);
      if (signal?.aborted) return;
    } finally {
      connection.abort();
    }
  }
}

function isFeedEvent(event: TaskEvent): event is FeedEvent {
  return textOf(event, 'response_id') !== undefined && textOf(event, 'session_id') !== undefined;
}
