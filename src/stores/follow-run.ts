// One follower of one run: a cursor, and where it finds what comes after it. See G1, G2, G4 and G5 of `run-log.ts`.

import type { RunId } from '../core/ids.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Channel, Channels, Follower, LogEnd } from './channels.ts';
import { endsLog } from './event-shape.ts';
import { gone, type HeadWatch } from './head-watch.ts';
import { pageEvents, type ReadTail } from './read-tails.ts';
import type { Store } from './store.ts';

export interface FollowSources {
  readonly channels: Channels;
  readonly store: Store;
  readonly heads: HeadWatch;
  readonly readTail: ReadTail;
  /** True once the log is closed. */
  readonly isClosed: () => boolean;
}

export interface FollowOptions {
  readonly after: number;
  readonly signal?: AbortSignal;
}

export function followRun(
  sources: FollowSources,
  runId: RunId,
  { after, signal }: FollowOptions,
): AsyncIterableIterator<readonly RunEvent[]> {
  const { channels, store, heads, isClosed } = sources;
  const news = createNotification();
  let left = false;
  const goesOn = () => !left && !isClosed() && signal?.aborted !== true;

  async function* follow(): AsyncGenerator<readonly RunEvent[]> {
    const follower: Follower = { cursor: after, notify: news.notify };
    const channel = channels.enter(runId, follower);
    signal?.addEventListener('abort', news.notify);
    try {
      while (goesOn()) {
        news.reset();
        const { cursor } = follower;
        const events = channels.eventsAfter(channel, cursor) ?? (await readOn(sources, channel, cursor));
        const last = events.at(-1);
        if (last !== undefined) {
          follower.cursor = last.seq;
          yield events;
          if (endsLog(last)) return;
        }
        if (channel.queue === null && channel.end === null) channels.learn(runId, await endOf(store, runId));
        else if (last !== undefined) continue;
        else if (channel.queue !== null) await news.wait();
        else if (hasAll(channel, cursor)) return;
        else {
          const leave = heads.watch(runId);
          await news.wait();
          leave();
        }
      }
    } finally {
      signal?.removeEventListener('abort', news.notify);
      channels.leave(channel, follower);
    }
  }

  const batches = follow();
  return {
    next: () => batches.next(),
    // A generator that waits learns of a return at its next yield only: wake it, so that there is nothing to wait for (G5).
    return() {
      left = true;
      news.notify();
      return batches.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Nothing, where it is known that there is nothing. */
async function readOn(
  { store, readTail }: FollowSources,
  { runId, queue, end }: Channel,
  after: number,
): Promise<readonly RunEvent[]> {
  if (queue !== null || end === null) return store.readEvents(runId, { after, limit: pageEvents });
  return end.lastSeq > after ? readTail({ runId, after }, end.lastSeq) : [];
}

async function endOf(store: Store, runId: RunId): Promise<LogEnd> {
  const [head] = await store.heads([runId]);
  return head ?? gone;
}

const hasAll = ({ end }: Channel, cursor: number) => end?.isOver === true && end.lastSeq <= cursor;

interface Notification {
  readonly notify: () => void;
  /** Forgets what was notified so far: call it before looking at what there is, so that nothing falls between looking and waiting. */
  reset(): void;
  /** Resolves at the next `notify`, at once if there was one since `reset`. */
  wait(): Promise<void>;
}

function createNotification(): Notification {
  let notified = false;
  let wake: (() => void) | null = null;
  const notify = () => {
    notified = true;
    wake?.();
  };
  return {
    notify,
    reset: () => void (notified = false),
    async wait() {
      if (!notified) await new Promise<void>((resolve) => (wake = resolve));
    },
  };
}
