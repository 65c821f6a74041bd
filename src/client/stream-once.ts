import { ProtocolError } from './errors.ts';
import { parseEvent, type ParsedEvent } from './parse-event.ts';
import { path } from './transport.ts';
import { readMessages } from './read-messages.ts';
import { settleWithin } from './settle-within.ts';
import type { ClientParts } from './client-parts.ts';
import type { RunRequest, VerbOptions } from './shapes.ts';

export type StreamSource =
  /** Started under this key, or found by it. */
  | { readonly request: RunRequest; readonly idempotencyKey: string }
  /** `after`: the last number that was seen; -1: from the start. */
  | { readonly responseId: string; readonly after: number; readonly reinsEvents: boolean };

export interface StreamOptions extends VerbOptions {
  /** The server has begun to answer with the stream. */
  readonly onOpen?: () => void;
  /** Something came, be it a comment. */
  readonly onBytes?: () => void;
}

/**
 * One connection to the events of a task, as they come: not tried again, nothing left out, nothing put together. For whoever
 * keeps cursor and patience; else `run` and `attach`. Ends where the connection ends, which is no end of the task, and without
 * `onOpen` where all was seen.
 * @throws UhpError  Refused, or broken off. @throws the signal's reason
 */
export async function* streamOnce(
  { transport, clock, inactivityMs }: ClientParts,
  source: StreamSource,
  { signal, onOpen, onBytes }: StreamOptions = {},
): AsyncGenerator<ParsedEvent, void> {
  const leaving = new AbortController();
  const either = signal === undefined ? leaving.signal : AbortSignal.any([signal, leaving.signal]);
  const limits = { clock, ms: inactivityMs, signal: either };
  try {
    const answer = await settleWithin(transport.send({ ...callOf(source), signal: either }), limits);
    if (answer.status === 204) return;
    if (answer.body === null || answer.headers.get('Content-Type')?.startsWith('text/event-stream') !== true)
      throw new ProtocolError('The server answered without a stream.');
    onOpen?.();
    for await (const data of readMessages(answer.body, { ...limits, ...(onBytes === undefined ? {} : { onBytes }) })) {
      const parsed = parseEvent(data);
      if (parsed !== null) yield parsed;
    }
  } finally {
    leaving.abort();
  }
}

function callOf(source: StreamSource) {
  if ('responseId' in source)
    return {
      path: path`/v1/responses/${source.responseId}`,
      query: {
        stream: true,
        starting_after: source.after < 0 ? undefined : source.after,
        reins_events: source.reinsEvents,
      },
    };
  return {
    method: 'POST' as const,
    path: '/v1/responses',
    body: { ...source.request, stream: true },
    headers: { 'Idempotency-Key': source.idempotencyKey },
  };
}
