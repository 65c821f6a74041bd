import type { Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import { sseHeaders } from '../protocol/sse.ts';
import type { Call } from './route.ts';
import { writeSse, type SseBatch } from './sse-writer.ts';

export interface StreamSettings {
  readonly clock: Clock;
  readonly logger: Logger;
}

export type SendStream = (call: Call, open: (signal: AbortSignal) => AsyncIterable<SseBatch>) => Promise<void>;

/** Turns an answer into an event stream. What can be refused is refused before: here the headers go out (U-304). */
export function createSendStream({ logger, clock }: StreamSettings): SendStream {
  return async (call, open) => {
    const { request, reply } = call;
    if (request.method === 'HEAD') {
      reply.headers(sseHeaders).send();
      return;
    }
    const signal = call.signal();
    reply.hijack();
    try {
      await writeSse(reply.raw, open(signal), { clock, signal });
    } catch (cause) {
      logger.error('A stream broke off.', { request_id: request.id }, cause);
    }
  };
}
