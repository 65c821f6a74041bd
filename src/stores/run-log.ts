// The log of every run: append, then publish (E-007). Owns who may read what when; how writes are grouped is
// `group-commit.ts`, what a store keeps is `store.ts`.
//
// G1. No follower, and no listener, sees an event before the store has it.
// G2. A follower is a cursor. It sees each event after it once and in order, whether from memory or from the store; one that
//     stalls holds one batch and delays nobody (E-144).
// G3. Memory per run is bounded: recent events only while somebody follows, nothing at all once the writer is closed and
//     the last follower left.
// G4. A run that another process writes is followed by looking at the store each second; a writer made here wakes its followers.

import type { Clock } from '../core/clock.ts';
import { RuntimeStateError } from '../core/errors.ts';
import type { RunId, SessionId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { RunEvent } from '../core/run-event.ts';
import { followRun, pageEvents, type Channel, type FollowOptions, type FollowSources } from './follow-run.ts';
import { createGroupCommit, type WriteQueue } from './group-commit.ts';
import { createRecentEvents } from './recent-events.ts';
import { createRunWriter, type RunWriter } from './run-writer.ts';
import type { Admission, AdmitResult, Store } from './store.ts';

export type { RunWriter } from './run-writer.ts';

export interface WrittenRun {
  readonly runId: RunId;
  readonly sessionId: SessionId;
  readonly generation: number;
  readonly lastSeq: number;
  readonly leg: number;
}

export type PublishListener = (runId: RunId, events: readonly RunEvent[]) => void;

export interface RunLog {
  /** Stores what starts a task and publishes its events at once. */
  admit(admission: Admission): Promise<AdmitResult>;
  /** The write side of a run that this process owns. One writer a run: a new one fences the one before it. */
  writer(run: WrittenRun): RunWriter;
  /**
   * Events after the cursor in order, each batch what is there now; then waits for more. Ends after the final
   * `run-result`, when the signal aborts, on `close`, and for a run that does not exist. Over a park it goes on.
   * While it waits only the signal ends it: `return()` takes effect when the next batch is there.
   * @throws StorageError  The events cannot be read.
   */
  follow(runId: RunId, options: FollowOptions): AsyncIterable<readonly RunEvent[]>;
  /** All events so far, in order; does not wait for more. */
  readAll(runId: RunId): AsyncIterable<readonly RunEvent[]>;
  /** Position of the last stored event of a run that has a writer here. */
  lastSeq(runId: RunId): number | undefined;
  /** Every published batch of every run, for feeds. The listener must not throw or block. Returns the unsubscribe. */
  onPublish(listener: PublishListener): () => void;
  /** Takes no more writes, stores what is pending, then ends the followers. */
  close(): Promise<void>;
}

export interface RunLogOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly windowMs?: number;
  /** Live events of a run are no longer stored once its writer wrote this much (E-846). */
  readonly maxLogBytes?: number;
}

const recentBounds = { eventsPerRun: 256, bytesPerRun: 262_144, bytes: 67_108_864 };

export function createRunLog(options: RunLogOptions): RunLog {
  const { store, clock, logger, windowMs = 5, maxLogBytes = 268_435_456 } = options;
  const channels = new Map<RunId, Channel>();
  const listeners = new Set<PublishListener>();
  const recent = createRecentEvents(recentBounds);
  let state: 'open' | 'closing' | 'closed' = 'open';
  const commit = createGroupCommit({
    store,
    clock,
    windowMs,
    onStored: ({ runId }, events, { bytes }) => publish(runId, events, bytes),
    onFailed: ({ runId }, error) => logger.error('A run can no longer be written here.', { runId }, error),
    onIdle: letGo,
  });

  function channelOf(runId: RunId): Channel {
    const known = channels.get(runId);
    if (known !== undefined) return known;
    const channel: Channel = { runId, queue: null, followers: new Set() };
    channels.set(runId, channel);
    return channel;
  }

  function publish(runId: RunId, events: readonly RunEvent[], bytes: number): void {
    const channel = channels.get(runId);
    if (channel !== undefined && channel.followers.size > 0) {
      let allHave = Number.POSITIVE_INFINITY;
      for (const { cursor } of channel.followers) allHave = Math.min(allHave, cursor);
      recent.forget(runId, allHave);
      recent.add(runId, events, bytes);
      wakeAll(channel);
    }
    for (const listener of listeners) {
      try {
        listener(runId, events);
      } catch (cause) {
        logger.error('A listener of the run log threw.', { runId }, cause);
      }
    }
  }

  /** Forgets a queue that is shut and of which nothing waits any more (G3). */
  function letGo(queue: WriteQueue): void {
    if (queue.refusal === null || queue.pending !== null || queue.inFlight !== null) return;
    const channel = channels.get(queue.runId);
    if (channel?.queue !== queue) return;
    channel.queue = null;
    wakeAll(channel);
    release(channel);
  }

  function release(channel: Channel): void {
    if (channel.followers.size > 0) return;
    recent.drop(channel.runId);
    if (channel.queue === null) channels.delete(channel.runId);
  }

  const sources: FollowSources = {
    enter(runId, follower) {
      const channel = channelOf(runId);
      channel.followers.add(follower);
      return channel;
    },
    leave(channel, follower) {
      channel.followers.delete(follower);
      release(channel);
    },
    recent,
    store,
    clock,
    isClosed: () => state === 'closed',
  };

  return {
    async admit(admission) {
      const result = await store.admit(admission);
      if (result.outcome === 'admitted') publish(admission.runId, result.events, 0);
      return result;
    },
    writer(run) {
      if (state !== 'open') throw new RuntimeStateError('The run log is closed.');
      const { runId, sessionId, generation, lastSeq, leg } = run;
      const channel = channelOf(runId);
      const queue: WriteQueue = {
        runId,
        sessionId,
        generation,
        lastSeq,
        pending: null,
        inFlight: null,
        lost: [],
        refusal: null,
      };
      if (channel.queue !== null) channel.queue.refusal ??= new RuntimeStateError('Another writer took this run over.');
      channel.queue = queue;
      wakeAll(channel);
      return createRunWriter({ queue, leg, clock, commit, maxLogBytes, onClose: () => letGo(queue) });
    },
    follow: (runId, followOptions) => followRun(sources, runId, followOptions),
    async *readAll(runId) {
      for (let cursor = 0; ;) {
        const events = await store.readEvents(runId, { after: cursor, limit: pageEvents });
        const last = events.at(-1);
        if (last === undefined) return;
        cursor = last.seq;
        yield events;
      }
    },
    lastSeq: (runId) => channels.get(runId)?.queue?.lastSeq,
    onPublish(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      state = 'closing';
      for (const { queue } of channels.values()) {
        if (queue !== null) queue.refusal ??= new RuntimeStateError('The run log is closed.');
      }
      await commit.drain();
      state = 'closed';
      for (const channel of channels.values()) wakeAll(channel);
    },
  };
}

function wakeAll({ followers }: Channel): void {
  for (const { wake } of followers) wake();
}
