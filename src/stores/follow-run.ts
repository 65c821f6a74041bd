// One follower of one run: a cursor, and where it finds what comes after it. See G1, G2, G4 and G5 of `run-log.ts`.

import type { RunId } from '../core/ids.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Channels, Follower } from './channels.ts';
import { endsLog } from './event-shape.ts';
import type { HeadWatch } from './head-watch.ts';
import type { Store } from './store.ts';

export interface FollowSources {
  readonly channels: Channels;
  readonly store: Store;
  readonly heads: HeadWatch;
  /** True once the log is closed. */
  readonly isClosed: () => boolean;
}

export interface FollowOptions {
  readonly after: number;
  readonly signal?: AbortSignal;
}

export const pageEvents = 512;

export function followRun(
  { channels, store, heads, isClosed }: FollowSources,
  runId: RunId,
  { after, signal }: FollowOptions,
): AsyncIterableIterator<readonly RunEvent[]> {
  const news = createNotification();
  let left = false;
  const goesOn = () => !left && !isClosed() && signal?.aborted !== true;

  async function* follow(): AsyncGenerator<readonly RunEvent[]> {
    const follower: Follower = { cursor: after, notify: news.notify };
    const channel = channels.enter(runId, follower);
    signal?.addEventListener('abort', news.notify);
    // A run whose events have just come without an end is not over.
    let mayBeOver = true;
    try {
      while (goesOn()) {
        news.reset();
        const { cursor } = follower;
        const events =
          channels.eventsAfter(channel, cursor) ??
          (await store.readEvents(runId, { after: cursor, limit: pageEvents }));
        const last = events.at(-1);
        if (last !== undefined) {
          follower.cursor = last.seq;
          mayBeOver = false;
          yield events;
          if (endsLog(last)) return;
        } else if (channel.queue !== null) {
          await news.wait();
        } else {
          if (mayBeOver && (await isOver(store, runId, cursor))) return;
          mayBeOver = true;
          const leave = heads.watch({ runId, cursor, notify: news.notify });
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

async function isOver(store: Store, runId: RunId, cursor: number): Promise<boolean> {
  const [head] = await store.heads([runId]);
  return head === undefined || (head.isOver && head.lastSeq <= cursor);
}

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
