// Writes one event stream to one connection, raw: a stream abstraction in between costs more than the write itself.
//
// W1. A batch is written once, whole and in order, whatever `write` returned for it (B044).
// W2. At most one batch and one slice are in memory for a reader: the next batch is asked for when the last one was
//     accepted. Waiting ends with drain and as well with close (B042); an error is always followed by close.
// W3. A reader that accepts nothing for `readerTimeoutMs` is cut off, in mid-stream and at the end (B043).
// W4. A keep-alive comment goes out every `keepAliveMs` from the headers on, but not into a full buffer (UD-80). It never
//     lands inside a batch: between two slices the buffer is full, or nothing else runs.
// W5. When the promise settles, no timer and no listener of this stream is left (B045).
// W6. `signal` aborts when the reader is gone or the server closes. The source ends on it; nothing is written after it,
//     and a connection that is still there is ended in order, after a whole batch.
// W7. A source that fails breaks the connection instead of ending it: a reader must not take a cut for the end.

import type { ServerResponse } from 'node:http';
import { keepAlive, sseHeaders } from '../protocol/sse.ts';
import type { Clock } from '../core/clock.ts';

/** UD-80. */
const keepAliveMs = 15_000;
/** UD-27. */
const readerTimeoutMs = 60_000;

export interface SseWriterOptions {
  readonly clock: Clock;
  /** Given to the source, too (W6). */
  readonly signal: AbortSignal;
  /** The comment that keeps the connection alive; absent: the protocol's. */
  readonly comment?: string;
}

export interface SseBatch {
  /** Whole frames, encoded. */
  readonly text: string;
}

/** Resolves when the connection has taken everything or is gone; rejects with the source's own failure (W7). */
export async function writeSse(
  response: ServerResponse,
  batches: AsyncIterable<SseBatch>,
  options: SseWriterOptions,
): Promise<void> {
  const { signal } = options;
  openStream(response);
  const stopKeepAlive = startKeepAlive(response, options);
  try {
    for await (const { text } of batches) {
      if (signal.aborted) break;
      const waiting = writeBatch(response, text, options);
      if (waiting !== undefined) await waiting;
      if (signal.aborted) break;
    }
  } catch (cause) {
    if (!signal.aborted) {
      response.destroy();
      throw cause;
    }
  } finally {
    stopKeepAlive();
  }
  await endStream(response, options);
}

function openStream(response: ServerResponse): void {
  if (response.destroyed) return;
  // What a dying socket reports after the fact is known from `close` already; unheard, it would end the process.
  response.on('error', () => {});
  response.socket?.setNoDelay(true);
  response.writeHead(200, sseHeaders);
  response.flushHeaders();
}

/** Big enough to be one write for whatever is live, small enough that a slow reader shows progress (W3). */
const sliceBytes = 64 * 1024;

/** What to wait for before the next batch; undefined for nothing, as nearly always. */
function writeBatch(response: ServerResponse, text: string, options: SseWriterOptions): Promise<void> | undefined {
  if (text.length > sliceBytes) return writeSlices(response, Buffer.from(text), options);
  if (response.destroyed || writeChunk(response, text)) return undefined;
  return accepted(response, 'drain', options);
}

/**
 * Writes a text as one chunk of the body, whole. Node makes three pieces of a chunk (size, data, end) and one vectored write
 * of them, with a tick of its own in between; as one string to the socket it costs a quarter less. The answer's end is still
 * Node's. A peer without chunks (HTTP/1.0), or one whose earlier answer is still under way, is written to as usual.
 */
function writeChunk(response: ServerResponse, text: string): boolean {
  const { socket } = response;
  if (socket === null || !response.chunkedEncoding) return response.write(text);
  return socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

async function writeSlices(response: ServerResponse, bytes: Buffer, options: SseWriterOptions): Promise<void> {
  for (let start = 0; start < bytes.length; start += sliceBytes) {
    if (response.destroyed) return;
    if (!response.write(bytes.subarray(start, start + sliceBytes))) await accepted(response, 'drain', options);
  }
}

async function endStream(response: ServerResponse, options: SseWriterOptions): Promise<void> {
  if (response.destroyed) return;
  response.end();
  await accepted(response, 'close', options);
}

/** Resolves at `event` or when the connection is gone; a reader that lets neither happen in time is cut off (W2, W3). */
function accepted(response: ServerResponse, event: 'drain' | 'close', options: SseWriterOptions): Promise<void> {
  return new Promise((resolve) => {
    if (response.closed) return resolve();
    const { socket } = response;
    const cancel = options.clock.timer(readerTimeoutMs, () => response.destroy());
    const done = () => {
      cancel();
      socket?.off('drain', done);
      response.off(event, done).off('close', done);
      resolve();
    };
    response.on(event, done);
    // Node tells an answer of a drain only if the answer itself wrote last.
    if (event === 'drain') socket?.on('drain', done);
    if (event !== 'close') response.on('close', done);
  });
}

function startKeepAlive(response: ServerResponse, { clock, comment = keepAlive }: SseWriterOptions): () => void {
  const arm = () =>
    clock.timer(keepAliveMs, () => {
      if (!response.destroyed && response.socket?.writableNeedDrain !== true) writeChunk(response, comment);
      cancel = arm();
    });
  let cancel = arm();
  return () => cancel();
}
