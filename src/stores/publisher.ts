// Who is told of stored events, and that nobody is told twice. See G1 and G6 of `run-log.ts`.

import type { RunId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { RunEvent } from '../core/run-event.ts';
import type { Channels } from './channels.ts';

export type PublishListener = (runId: RunId, events: readonly RunEvent[]) => void;

export interface Publisher {
  /** To the followers of the run and to all listeners, without what was published ahead. @param bytes  About what they weigh. */
  publish(runId: RunId, events: readonly RunEvent[], bytes: number): void;
  /** The same where no writer is here that would meet them; one that is made later may (G6). */
  publishAhead(runId: RunId, events: readonly RunEvent[]): void;
  /** Returns the unsubscribe. */
  onPublish(listener: PublishListener): () => void;
}

export interface PublisherOptions {
  readonly channels: Channels;
  readonly logger: Logger;
}

const maxAhead = 1_024;

export function createPublisher({ channels, logger }: PublisherOptions): Publisher {
  const listeners = new Set<PublishListener>();
  const ahead = createAhead();

  function publish(runId: RunId, stored: readonly RunEvent[], bytes: number): void {
    const events = ahead.without(runId, stored);
    if (events.length === 0) return;
    channels.publish(runId, events, bytes);
    for (const listener of listeners) {
      try {
        listener(runId, events);
      } catch (cause) {
        logger.error('A listener of the run log threw.', { runId }, cause);
      }
    }
  }

  return {
    publish,
    publishAhead(runId, events) {
      publish(runId, events, 0);
      ahead.add(runId, events);
    },
    onPublish(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** By run, the last event that was published while no writer was here. Bounded. */
function createAhead() {
  const last = new Map<RunId, number>();
  return {
    add(runId: RunId, events: readonly RunEvent[]): void {
      for (const { seq } of events) last.set(runId, seq);
      const [oldest] = last.keys();
      if (last.size > maxAhead && oldest !== undefined) last.delete(oldest);
    },
    without(runId: RunId, events: readonly RunEvent[]): readonly RunEvent[] {
      const through = last.get(runId);
      if (through === undefined) return events;
      const rest = events.filter(({ seq }) => seq > through);
      if (rest.length > 0) last.delete(runId);
      return rest;
    },
  };
}
