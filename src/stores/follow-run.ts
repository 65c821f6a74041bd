// One follower of one run: a cursor, and where it finds what comes after it. See G1, G2 and G4 of `run-log.ts`.

import type { Clock } from '../core/clock.ts';
import type { RunId } from '../core/ids.ts';
import type { RunEvent } from '../core/run-event.ts';
import { endsLog } from './event-shape.ts';
import type { WriteQueue } from './group-commit.ts';
import type { RecentEvents } from './recent-events.ts';
import type { Store } from './store.ts';

/** A run that has a writer or followers in this process. */
export interface Channel {
  readonly runId: RunId;
  /** Present while this process owns the run: then `lastSeq` of the queue is where the log ends. */
  queue: WriteQueue | null;
  readonly followers: Set<Follower>;
}

export interface Follower {
  /** The last event that it has, in its hands or behind it. */
  cursor: number;
  readonly wake: () => void;
}

export interface FollowSources {
  /** Adds a follower to its run's channel; every entry is followed by one `leave`. */
  readonly enter: (runId: RunId, follower: Follower) => Channel;
  readonly leave: (channel: Channel, follower: Follower) => void;
  readonly recent: RecentEvents;
  readonly store: Store;
  readonly clock: Clock;
  /** True once the log is closed. */
  readonly isClosed: () => boolean;
}

export interface FollowOptions {
  readonly after: number;
  readonly signal?: AbortSignal;
}

export const pageEvents = 512;
const pollMs = 1_000;

export async function* followRun(
  { enter, leave, recent, store, clock, isClosed }: FollowSources,
  runId: RunId,
  { after, signal }: FollowOptions,
): AsyncGenerator<readonly RunEvent[]> {
  const bell = createBell(clock);
  const goesOn = () => !isClosed() && signal?.aborted !== true;
  const follower: Follower = { cursor: after, wake: bell.ring };
  const channel = enter(runId, follower);
  signal?.addEventListener('abort', bell.ring);
  try {
    while (goesOn()) {
      bell.reset();
      const { cursor } = follower;
      const events =
        eventsHere(channel, recent, cursor) ?? (await store.readEvents(runId, { after: cursor, limit: pageEvents }));
      const last = events.at(-1);
      if (last !== undefined) {
        follower.cursor = last.seq;
        yield events;
        if (endsLog(last)) return;
      } else if (channel.queue !== null) {
        await bell.rung();
      } else {
        if (await isOver(store, runId, cursor)) return;
        await bell.rung(pollMs);
      }
    }
  } finally {
    signal?.removeEventListener('abort', bell.ring);
    leave(channel, follower);
  }
}

/** What memory knows about the events after the cursor: them, that there are none yet, or nothing (undefined). */
function eventsHere({ runId, queue }: Channel, recent: RecentEvents, cursor: number): readonly RunEvent[] | undefined {
  if (queue !== null && cursor >= queue.lastSeq) return [];
  return recent.after(runId, cursor);
}

async function isOver(store: Store, runId: RunId, cursor: number): Promise<boolean> {
  const run = await store.run(runId);
  return run === null || (run.status !== 'running' && run.lastSeq <= cursor);
}

interface Bell {
  readonly ring: () => void;
  /** Forgets rings so far: call it before looking at what there is, so that no ring falls between looking and waiting. */
  reset(): void;
  /** Resolves at the next ring, at once if there was one since `reset`, or after `withinMs`. */
  rung(withinMs?: number): Promise<void>;
}

function createBell(clock: Clock): Bell {
  let rang = false;
  let wake: (() => void) | null = null;
  const ring = () => {
    rang = true;
    wake?.();
  };
  return {
    ring,
    reset: () => void (rang = false),
    async rung(withinMs) {
      if (rang) return;
      const cancel = withinMs === undefined ? undefined : clock.timer(withinMs, ring);
      await new Promise<void>((resolve) => (wake = resolve));
      cancel?.();
    },
  };
}
