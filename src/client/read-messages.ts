import { createParser } from 'eventsource-parser';
import { ConnectionError } from './errors.ts';
import { settleWithin, type Limits } from './settle-within.ts';

export interface Reading extends Limits {
  /** Something came, be it a comment or half a character: the connection lives (B035). */
  onBytes?(): void;
}

/**
 * The `data` of each message of an event stream, however it is cut and whatever ends its lines (U-442). The last one needs no
 * blank line behind it. `ms` is the longest silence; while nobody asks for a message, no time passes.
 * @throws TimeoutError, ConnectionError
 */
export async function* readMessages(body: ReadableStream<Uint8Array>, reading: Reading): AsyncGenerator<string> {
  const found: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => found.push(data) });
  // The parser takes the mark at the start away; two would be one too many (B006).
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const reader = body.getReader();
  try {
    for (;;) {
      const read = reader.read().catch((cause: unknown) => {
        throw new ConnectionError(cause);
      });
      const { done, value } = await settleWithin(read, reading);
      if (value !== undefined && value.length > 0) reading.onBytes?.();
      parser.feed(done ? `${decoder.decode()}\n\n` : decoder.decode(value, { stream: true }));
      yield* found.splice(0);
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
