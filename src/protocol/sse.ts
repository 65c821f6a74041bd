/**
 * One event as bytes go out (UD-16): `id:`, one `data:` line, a blank line; LF only, no `event:` line.
 * @param data  JSON on one line; JSON.stringify never writes a line break.
 */
export function encodeSse(id: number, data: string): string {
  return `id: ${id}\ndata: ${data}\n\n`;
}

/** A line that readers skip: it has no number and is in no log. */
export function encodeComment(text: string): string {
  return `: ${text}\n\n`;
}

/** Sent while nothing else is (UD-80). */
export const keepAlive = encodeComment('keep-alive');

/** An event of a stream that cannot be resumed: without an `id:` line. */
export function encodeUnnumberedSse(data: string): string {
  return `data: ${data}\n\n`;
}

/** Headers of every event stream (U-300, UD-16). */
export const sseHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const;
