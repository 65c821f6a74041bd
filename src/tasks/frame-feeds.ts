// Encoded frames of tasks for their readers.
//
// F1. The host of a running task folds each event once, when it is stored, for the response and for the frames alike; what
//     it encodes is shared by all readers. Nothing is encoded while nobody reads.
// F2. A reader is a cursor. A live feed holds a bounded number of recent frames and knows no reader's position.
// F3. A reader that is not within the held frames, of another form of the stream, or of a task that no host here works on,
//     folds the log for itself, until a live feed holds what it needs. Both give the same bytes: the same fold of the same
//     log (E-003).
// F4. All who wait at the tip hold one promise: promises and listeners of their own would cost as much as the frames.

import { createUhpFrames, framesFrom, type FrameBatch } from '../views/uhp-frames.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { RunLog } from '../stores/run-log.ts';

export type { FrameBatch } from '../views/uhp-frames.ts';

export interface FrameSource {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly reinsEvents: boolean;
}

/** The host's end of a live feed. */
export interface LiveFrames {
  /** Whether anybody reads: else nothing need be encoded. */
  readonly wanted: boolean;
  /** Frames that are stored; null = none were made of what was. */
  push(frames: FrameBatch | null): void;
  /** The host works on the task no more; readers go on from the log. */
  close(): void;
}

export interface FrameFeeds {
  open(source: FrameSource): LiveFrames;
  /**
   * Frames with a number above `after`, all that are there in each batch; ends after the terminal one, or when `signal`
   * aborts. An observer: leaving never stops the task.
   */
  follow(
    source: FrameSource,
    options: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncIterable<FrameBatch>;
}

/** Frames a feed holds for readers that are a little behind: some 20 kB, as there may be thousands of feeds. */
const heldFrames = 64;

interface Feed {
  readers: number;
  /** In order and without holes; the newest is always among them. */
  held: FrameBatch[];
  closed: boolean;
  /** Resolves when there may be more, or a reader goes; then another takes its place. */
  change: PromiseWithResolvers<void>;
}

export function createFrameFeeds(log: RunLog): FrameFeeds {
  const feeds = new Map<string, Feed>();

  async function* follow(
    source: FrameSource,
    { after, signal }: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<FrameBatch> {
    const key = keyOf(source);
    let cursor = after;
    while (!signal.aborted) {
      const feed = feeds.get(key);
      const batches =
        feed === undefined
          ? followLog(log, source, { cursor, signal })
          : followBoth(log, source, { feed, cursor, signal });
      for await (const batch of batches) {
        cursor = batch.last;
        yield batch;
        if (batch.terminal) return;
        if (feed === undefined && feeds.has(key)) break; // A host has begun to work on the task.
      }
      // A feed that closed without an end has left its task to another owner: the log tells what comes.
      if (feed === undefined && !feeds.has(key)) return;
    }
  }

  return {
    follow,
    open(source) {
      const feed: Feed = { readers: 0, held: [], closed: false, change: Promise.withResolvers() };
      feeds.set(keyOf(source), feed);
      return {
        get wanted() {
          return feed.readers > 0;
        },
        push(frames) {
          if (frames === null) return;
          hold(feed, frames);
          announce(feed);
        },
        close() {
          feed.closed = true;
          if (feeds.get(keyOf(source)) === feed) feeds.delete(keyOf(source));
          announce(feed);
        },
      };
    },
  };
}

function keyOf({ runId, reinsEvents }: FrameSource): string {
  return `${runId} ${reinsEvents}`;
}

interface Reading {
  readonly cursor: number;
  readonly signal: AbortSignal;
}

/** From a feed where that holds what comes next, else from the log. Ends when the feed is closed and read to its end. */
async function* followBoth(
  log: RunLog,
  source: FrameSource,
  { feed, signal, ...from }: Reading & { readonly feed: Feed },
): AsyncGenerator<FrameBatch> {
  const onAbort = () => announce(feed);
  signal.addEventListener('abort', onAbort);
  feed.readers += 1;
  let cursor = from.cursor;
  try {
    while (!signal.aborted) {
      const batch = heldAfter(feed, cursor);
      if (batch === 'not-held') {
        for await (const missed of followLog(log, source, { cursor, signal })) {
          cursor = missed.last;
          yield missed;
          if (missed.terminal) return;
          if (heldAfter(feed, cursor) !== 'not-held') break;
        }
        if (feed.closed) return;
      } else if (batch !== null) {
        cursor = batch.last;
        yield batch;
        if (batch.terminal) return;
      } else if (feed.closed) return;
      else await feed.change.promise;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    feed.readers -= 1;
    if (feed.readers === 0) feed.held = [];
  }
}

/** The log folded from its start; gives what is behind the cursor. */
async function* followLog(log: RunLog, source: FrameSource, { cursor, signal }: Reading): AsyncGenerator<FrameBatch> {
  const frames = createUhpFrames({ ...source, encode: true });
  for await (const events of log.follow(source.runId, { after: 0, signal })) {
    const batch = frames.push(events);
    if (batch !== null && batch.last > cursor) yield cutTo(batch, cursor);
  }
}

function hold(feed: Feed, frames: FrameBatch): void {
  const { held } = feed;
  held.push(frames);
  // What is dropped was held long enough: the rest still makes up the bound.
  while (held[1] !== undefined && frames.last + 1 - held[1].first >= heldFrames) held.shift();
}

/** Held frames after the cursor as one batch; null when the reader has all there are. */
function heldAfter({ held }: Feed, cursor: number): FrameBatch | 'not-held' | null {
  const [oldest, newest] = [held[0], held.at(-1)];
  if (oldest === undefined || newest === undefined || cursor + 1 < oldest.first) return 'not-held';
  if (cursor >= newest.last) return null;
  // The usual reader is one batch behind: look from the end.
  let from = held.length - 1;
  while ((held[from]?.first ?? 0) > cursor + 1) from -= 1;
  const ahead = held.slice(from);
  const text = ahead.length === 1 ? newest.text : ahead.map((batch) => batch.text).join('');
  return cutTo({ ...newest, first: ahead[0]?.first ?? newest.first, text }, cursor);
}

function cutTo(batch: FrameBatch, cursor: number): FrameBatch {
  if (batch.first > cursor) return batch;
  return { ...batch, first: cursor + 1, text: framesFrom(batch.text, cursor + 1) };
}

function announce(feed: Feed): void {
  const { change } = feed;
  feed.change = Promise.withResolvers();
  change.resolve();
}
