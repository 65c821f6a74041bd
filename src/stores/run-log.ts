// The log of every run: append, then publish (E-007). Owns who may read what when; how writes are grouped is
// `group-commit.ts`, who follows what `channels.ts`, what a store keeps `store.ts`.
//
// G1. No follower, and no listener, sees an event before the store has it.
// G2. A follower is a cursor. It sees each event after it once and in order, whether from memory or from the store; one that
//     stalls holds one batch and delays nobody (E-144).
// G3. Memory per run is bounded: recent events only while somebody follows, nothing at all once the writer is closed and
//     the last follower left.
// G4. Of a run that another process writes, its followers learn where the log ends: from what the store hears, and by a look
//     each second, one for all such runs (`head-watch.ts`). What they lack is read then, and nothing else; those of one moment
//     are read together (`read-tails.ts`). A writer made here wakes its followers.
// G5. A follower that is left, by its signal or by `return()`, is released at once, whether it waits or holds a batch.
// G6. A fact from outside is published once: by the writer that is at work here, when it meets it, else by who appended it.
//     The writer is sent to meet it as soon as it is known here that there is one, in whichever process it was said.

import type { Clock } from '../core/clock.ts';
import { RuntimeStateError } from '../core/errors.ts';
import type { RunId } from '../core/ids.ts';
import type { Logger } from '../core/logger.ts';
import type { RunEvent } from '../core/run-event.ts';
import { Channels } from './channels.ts';
import { endsLog } from './event-shape.ts';
import { followRun, type FollowOptions } from './follow-run.ts';
import { createGroupCommit } from './group-commit.ts';
import { createHeadWatch, type HeadWatch } from './head-watch.ts';
import { createPublisher, type PublishListener } from './publisher.ts';
import { createReadTail, pageEvents } from './read-tails.ts';
import { createRunWriter, type RunWriter } from './run-writer.ts';
import type { AppendFactsResult, FactFromOutside, Store } from './store.ts';
import type { Admission, AdmitResult } from './admission.ts';
import { WriteQueue, type WrittenRun } from './write-queue.ts';

export type { PublishListener } from './publisher.ts';
export type { RunWriter } from './run-writer.ts';

export interface RunLog {
  /** Stores what starts a task and publishes its events at once. */
  admit(admission: Admission): Promise<AdmitResult>;
  /** Appends a fact from outside (L7), and publishes it as soon as it is stored (G6). */
  appendFact(fact: FactFromOutside): Promise<AppendFactsResult>;
  /** A log is known to go so far: a writer here that has less takes in what others have said to its run (G6). */
  meet(runId: RunId, lastSeq: number): void;
  /** The write side of a run that this process owns. One writer a run: a new one fences the one before it. */
  writer(run: WrittenRun, onStored?: (events: readonly RunEvent[]) => void): RunWriter;
  /**
   * Events after the cursor in order, each batch what is there now; then waits for more. Ends after the final
   * `run-result`, when the signal aborts, when its consumer leaves, on `close`, and for a run that does not exist. Over a
   * park it goes on.
   * @throws StorageError  The events after the last batch cannot be read.
   */
  follow(runId: RunId, options: FollowOptions): AsyncIterableIterator<readonly RunEvent[]>;
  /**
   * All events so far, in order; does not wait for more. `committedOnly` leaves live events out, which is much cheaper.
   * @throws StorageError  The events after the last batch cannot be read.
   */
  readAll(runId: RunId, options?: ReadAllOptions): AsyncIterable<readonly RunEvent[]>;
  /** Every published batch of every run, for feeds. The listener must not throw or block. Returns the unsubscribe. */
  onPublish(listener: PublishListener): () => void;
  /** Runs that have a writer or followers here: none once all are closed and gone (G3). */
  readonly openRuns: number;
  /** Of followers here that wait for what others write. */
  readonly elsewhere: Pick<HeadWatch, 'waiting' | 'looks'>;
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
  /** Told what each transaction took; must not throw. */
  readonly onCommit?: ((tookMs: number) => void) | undefined;
}

export interface ReadAllOptions {
  readonly committedOnly?: true;
}

export function createRunLog(options: RunLogOptions): RunLog {
  const { store, clock, logger, windowMs = 5, maxLogBytes = 268_435_456, onCommit } = options;
  const channels = new Channels();
  const publisher = createPublisher({ channels, logger });
  let state: 'open' | 'closing' | 'closed' = 'open';
  const commit = createGroupCommit({ store, clock, windowMs, onCommit, onIdle: (queue) => channels.release(queue) });
  const heads = createHeadWatch({ store, clock, onEnd: (runId, end) => channels.learn(runId, end) });
  const sources = { channels, store, heads, readTail: createReadTail(store), isClosed: () => state === 'closed' };

  const deafen = store.onNews?.((runId, lastSeq) => {
    if (runId === null) heads.look();
    else if (!meet(runId, lastSeq)) channels.learn(runId, { lastSeq, isOver: false });
  });

  /** False where nobody writes the run here. */
  function meet(runId: RunId, lastSeq: number): boolean {
    const queue = channels.queueOf(runId);
    if (queue !== null && lastSeq > queue.lastSeq && state === 'open') commit.submit(queue);
    return queue !== null;
  }

  return {
    async admit(admission) {
      const result = await store.admit(admission);
      if (result.outcome === 'admitted') publisher.publish(admission.runId, result.events, 0);
      return result;
    },
    async appendFact(fact) {
      const result = await store.appendFact(fact);
      if (result.outcome !== 'stored') return result;
      const { runId } = fact.event;
      const queue = channels.queueOf(runId);
      if (queue === null) publisher.publishAhead(runId, result.events);
      else if (state === 'open') commit.submit(queue);
      return result;
    },
    meet: (runId, lastSeq) => void meet(runId, lastSeq),
    writer(run, onStored) {
      if (state !== 'open') throw new RuntimeStateError('The run log is closed.');
      const { runId } = run;
      const queue = new WriteQueue(run, {
        onStored(events, bytes) {
          onStored?.(events);
          publisher.publish(runId, events, bytes);
        },
        onFailed: (error) => logger.error('A run can no longer be written here.', { runId }, error),
      });
      channels.attach(queue);
      return createRunWriter({ queue, clock, commit, maxLogBytes, onClose: () => channels.release(queue) });
    },
    follow: (runId, followOptions) => followRun(sources, runId, followOptions),
    readAll: (runId, readOptions) => readPages(store, runId, readOptions),
    onPublish: (listener) => publisher.onPublish(listener),
    get openRuns() {
      return channels.size;
    },
    elsewhere: heads,
    async close() {
      state = 'closing';
      channels.refuseAll(new RuntimeStateError('The run log is closed.'));
      await commit.drain();
      state = 'closed';
      deafen?.();
      channels.wakeAll();
    },
  };
}

async function* readPages(
  store: Store,
  runId: RunId,
  options: ReadAllOptions = {},
): AsyncGenerator<readonly RunEvent[]> {
  for (let after = 0; ;) {
    const events = await store.readEvents(runId, { after, limit: pageEvents, ...options });
    const last = events.at(-1);
    if (last === undefined) return;
    after = last.seq;
    yield events;
    if (endsLog(last)) return;
  }
}
