/**
 * One event as bytes go out (UD-16): `id:`, one `data:` line, a blank line; LF only, no `event:` line.
 * @param data  JSON on one line; JSON.stringify never writes a line break.
 */
export function encodeSse(id: number, data: string): string {
  return `id: ${id}\ndata: ${data}\n\n`;
}

/** The frames of a text of whole frames from number `id` on, which is one of them. */
export function framesFrom(text: string, id: number): string {
  const start = `id: ${id}\n`;
  // No line of a frame but its first begins so: data are one line of JSON.
  return text.startsWith(start) ? text : text.slice(text.indexOf(`\n\n${start}`) + 2);
}

/** Sent while nothing else is (UD-80). A comment: it has no number and is in no log. */
export const keepAlive = ': keep-alive\n\n';

/** The first thing a feed says: from here on nothing is missed (UD-79). */
export const feedOpening = ': open\n\n';

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
