// Encoded frames of a running task, folded and encoded once for all its readers (DESIGN 1).
//
// F1. A reader is a cursor: the feed holds a bounded number of recent frames and knows no reader's position.
// F2. The feed moves only when a reader at its tip asks: nobody reading means nothing folded. Its one step is shared.
// F3. A reader behind the held frames gets a feed of its own, from the start of the log, until it has caught up. Both give
//     the same bytes, as both are the same fold of the same log (E-003).
// F4. What one step gave is kept as one text: the usual reader wants just that, and a frame by itself takes ten times the
//     memory. A cursor inside such a text, of a reader that comes back, cuts it (`framesFrom`).

import { createUhpFrames, framesFrom, type UhpFrames } from '../views/uhp-frames.ts';
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

/** The frames `first` to `last`, as one step of a feed gave them. */
interface Held extends FrameBatch {
  readonly first: number;
  readonly last: number;
}

interface Feed {
  readers: number;
  /** In order and without holes; the newest is always among them. */
  readonly held: Held[];
  readonly events: AsyncIterator<readonly RunEvent[]>;
  readonly fold: UhpFrames;
  readonly stop: AbortController;
  /** The step under way, shared by all who wait at the tip. */
  step: Promise<void> | null;
  ended: boolean;
  /** Why the log could not be read: thrown to every reader. */
  failure: { readonly cause: unknown } | null;
}

export function createFrameFeeds(log: RunLog): FrameFeeds {
  const feeds = new Map<string, Feed>();

  function enter(source: FrameSource): Feed {
    const key = keyOf(source);
    const feed = feeds.get(key) ?? openFeed(log, source);
    feeds.set(key, feed);
    feed.readers += 1;
    return feed;
  }

  /** The shared feed, once a reader of its own has come as far as what that holds (F3). */
  function rejoin(source: FrameSource, own: Feed, cursor: number): Feed {
    const shared = feeds.get(keyOf(source));
    const [oldest, newest] = [shared?.held[0], shared?.held.at(-1)];
    if (shared === own || oldest === undefined || newest === undefined) return own;
    if (cursor + 1 < oldest.first || cursor > newest.last) return own;
    leave(source, own);
    return enter(source);
  }

  function leave(source: FrameSource, feed: Feed): void {
    const key = keyOf(source);
    feed.readers -= 1;
    if (feed.readers > 0) return;
    if (feeds.get(key) === feed) feeds.delete(key);
    feed.stop.abort();
    // Aborting ends a follower that waits; one that has handed its last events over must be told, or it stays for ever.
    feed.events.return?.().then(undefined, () => {}); // A failure was thrown to the readers.
  }

  async function* follow(
    source: FrameSource,
    { after, signal }: { readonly after: number; readonly signal: AbortSignal },
  ): AsyncGenerator<FrameBatch> {
    let feed = enter(source);
    let cursor = after;
    const interrupt = interruptBy(signal);
    try {
      while (!signal.aborted) {
        const frames = framesAfter(feed, cursor);
        if (frames === 'not-held') {
          leave(source, feed);
          feed = openFeed(log, source);
          feed.readers = 1; // Of this reader alone (F3).
        } else if (frames !== null) {
          cursor = frames.last;
          yield frames;
          if (frames.terminal) return;
          feed = rejoin(source, feed, cursor);
        } else if (feed.ended) return;
        else await interrupt.orAborted(advance(feed));
      }
    } finally {
      interrupt.release();
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

function keyOf({ runId, reinsEvents }: FrameSource): string {
  return `${runId} ${reinsEvents}`;
}

function openFeed(log: RunLog, source: FrameSource): Feed {
  const stop = new AbortController();
  return {
    readers: 0,
    held: [],
    events: log.follow(source.runId, { after: 0, signal: stop.signal })[Symbol.asyncIterator](),
    fold: createUhpFrames(source),
    stop,
    step: null,
    ended: false,
    failure: null,
  };
}

/** One shared step of the feed: the next events of the log, as frames (F2). */
function advance(feed: Feed): Promise<void> {
  if (feed.failure !== null) return Promise.reject(feed.failure.cause);
  feed.step ??= stepFeed(feed);
  return feed.step;
}

async function stepFeed(feed: Feed): Promise<void> {
  try {
    const next = await feed.events.next();
    if (next.done) feed.ended = true;
    else hold(feed, next.value);
  } catch (cause) {
    feed.failure = { cause }; // A finished iterator says "done" ever after: that is no end of the stream.
    throw cause;
  } finally {
    feed.step = null;
  }
}

function hold({ held, fold }: Feed, events: readonly RunEvent[]): void {
  const first = (held.at(-1)?.last ?? -1) + 1;
  let [last, text, terminal] = [first - 1, '', false];
  for (const event of events)
    for (const frame of fold.push(event)) {
      last = frame.sequence;
      text += frame.text;
      terminal = frame.terminal;
    }
  if (last < first) return;
  held.push({ first, last, text, terminal });
  // What is dropped was held long enough: the rest still makes up the bound.
  while (held[1] !== undefined && last + 1 - held[1].first >= heldFrames) held.shift();
}

/** Held frames after the cursor as one batch; null when there are none yet. */
function framesAfter({ held }: Feed, cursor: number): Held | 'not-held' | null {
  const [oldest, newest] = [held[0], held.at(-1)];
  if (oldest === undefined || newest === undefined || cursor >= newest.last) return null;
  if (cursor + 1 < oldest.first) return 'not-held';
  // The usual reader is one step behind: look from the end.
  let from = held.length - 1;
  while ((held[from]?.first ?? 0) > cursor + 1) from -= 1;
  const ahead = from === held.length - 1 ? newest : joinHeld(held.slice(from), newest);
  return ahead.first > cursor ? ahead : { ...ahead, first: cursor + 1, text: framesFrom(ahead.text, cursor + 1) };
}

function joinHeld(held: readonly Held[], newest: Held): Held {
  return { ...newest, first: held[0]?.first ?? newest.first, text: held.map(({ text }) => text).join('') };
}

/** One listener for all waits of a reader: adding and removing one at each wait costs as much as the frames. */
function interruptBy(signal: AbortSignal) {
  let wake = () => {};
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort);
  return {
    /** The promise, or a return as soon as the signal aborts. */
    orAborted: (promise: Promise<void>) =>
      new Promise<void>((resolve, reject) => {
        wake = resolve;
        promise.then(resolve, reject);
      }),
    release: () => signal.removeEventListener('abort', onAbort),
  };
}
