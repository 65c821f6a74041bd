// The runs that have a writer or followers in this process, and what memory knows of their logs. See G1 to G3 of `run-log.ts`.

import { RuntimeStateError } from '../core/errors.ts';
import type { RunId } from '../core/ids.ts';
import type { RunEvent } from '../core/run-event.ts';
import { createRecentEvents } from './recent-events.ts';
import type { RunHead } from './store.ts';
import type { WriteQueue } from './write-queue.ts';

/** Where a log ends, and whether it stays so. */
export type LogEnd = Pick<RunHead, 'lastSeq' | 'isOver'>;

export interface Channel {
  readonly runId: RunId;
  /** What is known of a log that nobody writes here; null: the store is to be asked. */
  end: LogEnd | null;
  /** Present while this process owns the run: then `lastSeq` of the queue is where the log ends. */
  queue: WriteQueue | null;
  readonly followers: Set<Follower>;
}

export interface Follower {
  /** The last event that it has, in its hands or behind it. */
  cursor: number;
  readonly notify: () => void;
}

const recentBounds = { eventsPerRun: 256, bytesPerRun: 262_144, bytes: 67_108_864 };

export class Channels {
  readonly #channels = new Map<RunId, Channel>();
  readonly #recent = createRecentEvents(recentBounds);

  get size(): number {
    return this.#channels.size;
  }

  /** Makes the queue its run's only one; a queue before it takes nothing more in. */
  attach(queue: WriteQueue): void {
    const channel = this.#of(queue.runId);
    channel.queue?.refuse(new RuntimeStateError('Another writer took this run over.'));
    channel.queue = queue;
    notifyAll(channel);
  }

  /** Forgets a queue that is shut and of which nothing waits any more; leaves any other alone (G3). */
  release(queue: WriteQueue): void {
    const channel = this.#channels.get(queue.runId);
    if (queue.refusal === null || !queue.isIdle || channel?.queue !== queue) return;
    channel.queue = null;
    this.learn(queue.runId, { lastSeq: queue.lastSeq, isOver: false });
    notifyAll(channel);
    this.#forget(channel);
  }

  /** Of the writer that is at work here, if there is one. */
  queueOf(runId: RunId): WriteQueue | null {
    return this.#channels.get(runId)?.queue ?? null;
  }

  /** Adds a follower to its run's channel; every entry is followed by one `leave`. */
  enter(runId: RunId, follower: Follower): Channel {
    const channel = this.#of(runId);
    channel.followers.add(follower);
    return channel;
  }

  leave(channel: Channel, follower: Follower): void {
    channel.followers.delete(follower);
    this.#forget(channel);
  }

  /** Hands stored events to whoever follows their run here. */
  publish(runId: RunId, events: readonly RunEvent[], bytes: number): void {
    const channel = this.#channels.get(runId);
    if (channel === undefined || channel.followers.size === 0) return;
    const last = events.at(-1);
    if (channel.end !== null && last !== undefined) this.learn(runId, { lastSeq: last.seq, isOver: false });
    let allHave = Number.POSITIVE_INFINITY;
    for (const { cursor } of channel.followers) allHave = Math.min(allHave, cursor);
    this.#recent.forget(runId, allHave);
    this.#recent.add(runId, events, bytes);
    notifyAll(channel);
  }

  /** What memory knows about the events after the cursor: them, that there are none yet, or nothing (undefined). */
  eventsAfter({ runId, queue }: Channel, cursor: number): readonly RunEvent[] | undefined {
    if (queue !== null && cursor >= queue.lastSeq) return [];
    return this.#recent.after(runId, cursor);
  }

  /** No writer takes anything more in. */
  refuseAll(reason: Error): void {
    for (const { queue } of this.#channels.values()) queue?.refuse(reason);
  }

  /** Wakes those who follow the run and have less, or have no more to wait for. */
  learn(runId: RunId, { lastSeq, isOver }: LogEnd): void {
    const channel = this.#channels.get(runId);
    if (channel === undefined) return;
    const { end } = channel;
    // An answer that a word has overtaken takes nothing back.
    const through = isOver ? lastSeq : Math.max(lastSeq, end?.lastSeq ?? 0);
    channel.end = { lastSeq: through, isOver: isOver || end?.isOver === true };
    for (const { cursor, notify } of channel.followers) if (channel.end.isOver || cursor < through) notify();
  }

  wakeAll(): void {
    for (const channel of this.#channels.values()) notifyAll(channel);
  }

  #of(runId: RunId): Channel {
    const known = this.#channels.get(runId);
    if (known !== undefined) return known;
    const channel: Channel = { runId, end: null, queue: null, followers: new Set() };
    this.#channels.set(runId, channel);
    return channel;
  }

  #forget({ runId, queue, followers }: Channel): void {
    if (followers.size > 0) return;
    this.#recent.drop(runId);
    if (queue === null) this.#channels.delete(runId);
  }
}

function notifyAll({ followers }: Channel): void {
  for (const { notify } of followers) notify();
}
