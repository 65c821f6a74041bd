// The reading side, as cheap as it can be: a raw socket and a search for blank lines. It counts the frames that arrived, so
// what the server merged on the way counts once.

import { connect } from 'node:net';
import { benchKey } from './bench-key.ts';
import type { TaskShape } from './task-shape.ts';

export interface Stream {
  readonly frames: number;
  /** ms from the request to the first bytes of a frame; resolves then. */
  readonly first: Promise<number>;
  readonly ended: Promise<void>;
  close(): void;
}

export interface StreamOptions {
  readonly port: number;
  readonly path: string;
  /** The task that it asks for; absent: it reads one that is there. */
  readonly shape?: TaskShape;
  /** Called with the age in ms of each event as it arrives. Absent: nothing but counting is done. */
  readonly onAge?: (ms: number) => void;
}

const blankLine = Buffer.from('\n\n');
const lineFeed = 10;
// One buffer for all sockets: each read is dealt with before the next one happens.
const readBuffer = Buffer.allocUnsafe(256 * 1024);

export function openStream({ port, path, shape, onAge }: StreamOptions): Stream {
  const [first, ended] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()];
  let [frames, sentAt, halfway] = [0, 0, false];
  const onRead = (size: number) => {
    const bytes = readBuffer.subarray(0, size);
    if (halfway && bytes[0] === lineFeed) frames += 1;
    for (let at = bytes.indexOf(blankLine); at !== -1; at = bytes.indexOf(blankLine, at + 2)) frames += 1;
    halfway = bytes[size - 1] === lineFeed && bytes[size - 2] !== lineFeed;
    if (frames > 0) first.resolve(performance.now() - sentAt);
    if (onAge !== undefined) reportAges(bytes, onAge);
    return true;
  };
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: readBuffer, callback: onRead } });
  socket.on('connect', () => {
    sentAt = performance.now();
    socket.write(requestText(path, shape));
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    if (frames === 0) first.reject(new Error('The stream ended without a frame.'));
    ended.resolve();
  });
  return {
    get frames() {
      return frames;
    },
    first: first.promise,
    ended: ended.promise,
    close: () => socket.destroy(),
  };
}

function requestText(path: string, shape: TaskShape | undefined): string {
  const body = shape === undefined ? '' : JSON.stringify({ input: JSON.stringify(shape), stream: true });
  const head = [
    `${shape === undefined ? 'GET' : 'POST'} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${benchKey}`,
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
    'Connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

function reportAges(bytes: Buffer, onAge: (ms: number) => void): void {
  const [seconds, nanoseconds] = process.hrtime();
  const nowMicros = seconds * 1_000_000 + nanoseconds / 1_000;
  for (const [, micros] of bytes.toString('latin1').matchAll(/"delta":"@(\d+) /g))
    onAge((nowMicros - Number(micros)) / 1_000);
}
