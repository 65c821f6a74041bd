// Encoded frames of a running task, folded and encoded once for all its readers (DESIGN 1).
//
// F1. A reader is a cursor: the feed holds a bounded number of recent frames and knows no reader's position.
// F2. The feed moves only when a reader at its tip asks: nobody reading means nothing folded. Its one step is shared.
// F3. A reader behind the held frames gets a feed of its own, from the start of the log. Both give the same bytes, as both
//     are the same fold of the same log (E-003).

import { createUhpFrames, type Frame, type UhpFrames } from '../views/uhp-frames.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { RunLog } from '../stores/run-log.ts';

/** All frames that were there, as one text to write. */
export interface FrameBatch {
  readonly text: string;
  readonly terminal: boolean;
}

export interface FrameSource {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly reinsEvents: boolean;
}

export interface FrameFeeds {
  /**
   * Frames with a number above `after`, all that are there in each batch; ends after the terminal one, or when `signal`
   * aborts. An observer: leaving never stops the task.
   */
  follow(
    source: FrameSource,
    options: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncIterable<FrameBatch>;
  /** Feeds that are held now: none without readers. */
  readonly size: number;
}

/** Frames a feed holds for readers that are a little behind: some 20 kB, as there may be thousands of feeds. */
const heldFrames = 64;

interface Feed {
  readers: number;
  readonly frames: Frame[];
  readonly events: AsyncIterator<readonly RunEvent[]>;
  readonly fold: UhpFrames;
  readonly stop: AbortController;
  /** The step under way, shared by all who wait at the tip. */
  step: Promise<void> | null;
  ended: boolean;
}

export function createFrameFeeds(log: RunLog): FrameFeeds {
  const feeds = new Map<string, Feed>();

  function enter(source: FrameSource): Feed {
    const key = `${source.runId} ${source.reinsEvents}`;
    const feed = feeds.get(key) ?? openFeed(log, source);
    feeds.set(key, feed);
    feed.readers += 1;
    return feed;
  }

  function leave(source: FrameSource, feed: Feed): void {
    const key = `${source.runId} ${source.reinsEvents}`;
    feed.readers -= 1;
    if (feed.readers > 0) return;
    if (feeds.get(key) === feed) feeds.delete(key);
    feed.stop.abort();
  }

  async function* follow(
    source: FrameSource,
    { after, signal }: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<FrameBatch> {
    let feed = enter(source);
    let cursor = after;
    try {
      while (!signal.aborted) {
        const frames = framesAfter(feed, cursor);
        const last = frames?.at(-1);
        if (frames === null) {
          leave(source, feed);
          feed = openFeed(log, source); // Of this reader alone (F3).
        } else if (last !== undefined) {
          cursor = last.sequence;
          yield joinFrames(frames);
          if (last.terminal) return;
        } else if (feed.ended) return;
        else await orAborted(advance(feed), signal);
      }
    } finally {
      leave(source, feed);
    }
  }

  return {
    follow,
    get size() {
      return feeds.size;
    },
  };
}

function openFeed(log: RunLog, source: FrameSource): Feed {
  const stop = new AbortController();
  return {
    readers: 0,
    frames: [],
    events: log.follow(source.runId, { after: 0, signal: stop.signal })[Symbol.asyncIterator](),
    fold: createUhpFrames(source),
    stop,
    step: null,
    ended: false,
  };
}

/** One shared step of the feed: the next events of the log, as frames (F2). */
function advance(feed: Feed): Promise<void> {
  feed.step ??= stepFeed(feed).finally(() => {
    feed.step = null;
  });
  return feed.step;
}

async function stepFeed(feed: Feed): Promise<void> {
  const next = await feed.events.next();
  if (next.done) {
    feed.ended = true;
    return;
  }
  for (const event of next.value) feed.frames.push(...feed.fold.push(event));
  // Cut in bulk: a shift a frame would cost as much as the frames.
  if (feed.frames.length > 2 * heldFrames) feed.frames.splice(0, feed.frames.length - heldFrames);
}

/** Held frames after the cursor; null when the next one is no longer, or not yet, held and others are. */
function framesAfter({ frames }: Feed, cursor: number): readonly Frame[] | null {
  const first = frames[0];
  if (first === undefined) return [];
  if (cursor + 1 < first.sequence) return null;
  return frames.slice(cursor + 1 - first.sequence);
}

function joinFrames(frames: readonly Frame[]): FrameBatch {
  let text = '';
  for (const frame of frames) text += frame.text;
  return { text, terminal: frames.at(-1)?.terminal ?? false };
}

/** The promise, or a return as soon as the signal aborts. Leaves no listener behind. */
function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve();
    signal.addEventListener('abort', onAbort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
