import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import { sseHeaders } from '../protocol/sse.ts';
import type { Call } from './route.ts';
import type { Metrics } from './metrics.ts';
import { writeSse, type SseBatch, type SseWriterOptions } from './sse-writer.ts';

export interface StreamSettings {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics?: Metrics | null;
}

export type SendStream = (
  call: Call,
  open: (signal: AbortSignal) => AsyncIterable<SseBatch>,
  options?: Pick<SseWriterOptions, 'comment'>,
) => Promise<void>;

/** Turns an answer into an event stream. What can be refused is refused before: here the headers go out (U-304). */
export function createSendStream({ logger, clock, metrics = null }: StreamSettings): SendStream {
  return async (call, open, options = {}) => {
    const { request, reply } = call;
    if (request.method === 'HEAD') {
      reply.headers(sseHeaders).send();
      return;
    }
    const signal = call.signal();
    reply.hijack();
    const seen = metrics?.openStream(request.routeOptions.url ?? '');
    const openedAtMs = clock.now();
    const batches = noteFirst(open(signal), () => seen?.firstEvent((clock.now() - openedAtMs) / 1_000));
    try {
      await writeSse(reply.raw, batches, { clock, signal, ...options });
    } catch (cause) {
      logger.error('A stream broke off.', { request_id: request.id }, cause);
    } finally {
      seen?.closed();
    }
  };
}

/** The same batches from the same iterator: one more generator in between would cost each of them a tick. */
function noteFirst<T>(batches: AsyncIterable<T>, note: () => void): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = batches[Symbol.asyncIterator]();
      const next = iterator.next.bind(iterator);
      let state: 'fresh' | 'noted' = 'fresh';
      iterator.next = () => {
        const coming = next();
        // A failure is its reader's to hear.
        if (state === 'fresh') coming.then(note, () => {});
        state = 'noted';
        return coming;
      };
      return iterator;
    },
  };
}
