// The write side of one run: stamps what the harness yields, merges deltas that wait for the same flush, and says when the
// harness has to wait. Numbers are given by the append alone (E-100).

import type { Clock } from '../core/clock.ts';
import { RuntimeStateError } from '../core/errors.ts';
import { isLive, type EventDraft } from '../core/run-event.ts';
import { stampEvent } from './event-shape.ts';
import { weighEvent } from './event-weight.ts';
import { newBatch, type Batch, type GroupCommit, type WriteQueue } from './group-commit.ts';
import { mergeDeltas } from './merge-deltas.ts';
import type { Append } from './store.ts';

export interface RunWriter {
  /** Position of the last stored event. */
  readonly lastSeq: number;
  /** Leg that the next events are stamped with. */
  leg: number;
  /**
   * Stamps and queues. Only live events: undefined, or a promise to await first when the run's buffer is over its bound.
   * Any committed event: a promise that settles when everything so far is durable.
   * Rejects with LeaseLostError when another process owns the run, with StorageError when the store stays unable.
   */
  write(drafts: readonly EventDraft[]): Promise<void> | undefined;
  /** Settles when everything written so far is stored. */
  flush(): Promise<void>;
  /** The last write: it ends the run in the transaction that stores it (L4). */
  end(drafts: readonly EventDraft[], end: NonNullable<Append['end']>): Promise<void>;
  /** No more writes come. What was written before is still stored. */
  close(): void;
}

export interface RunWriterOptions {
  readonly queue: WriteQueue;
  readonly leg: number;
  readonly clock: Clock;
  readonly commit: GroupCommit;
  /** Live events beyond it are not stored (E-846). */
  readonly maxLogBytes: number;
  readonly onClose: () => void;
}

/** Live bytes of one run that may wait for a flush before its harness has to. */
const maxWaitingBytes = 65_536;

export function createRunWriter({ queue, leg, clock, commit, maxLogBytes, onClose }: RunWriterOptions): RunWriter {
  let writtenBytes = 0;
  let limited = false;

  function add(drafts: readonly EventDraft[]): Batch {
    const batch = (queue.pending ??= newBatch());
    const bytesBefore = batch.bytes;
    const at = clock.now();
    for (const draft of drafts) {
      if (!isLive(draft.type)) {
        batch.committed = true;
        push(batch, draft, at);
      } else if (writtenBytes + batch.bytes - bytesBefore < maxLogBytes) {
        mergeOrPush(batch, draft, at);
      } else if (!limited) {
        limited = true;
        const { step, attempt } = draft;
        push(batch, { type: 'gap', step, attempt, data: { reason: 'log_limit' } }, at);
      }
    }
    writtenBytes += batch.bytes - bytesBefore;
    return batch;
  }

  function mergeOrPush(batch: Batch, draft: EventDraft, at: number): void {
    const last = batch.events.at(-1);
    const merged = last === undefined ? undefined : mergeDeltas(last, draft);
    if (merged === undefined) return push(batch, draft, at);
    batch.events[batch.events.length - 1] = merged;
    batch.bytes += typeof draft.data === 'string' ? draft.data.length : weighEvent(draft);
  }

  function push(batch: Batch, draft: EventDraft, at: number): void {
    const { runId, sessionId } = queue;
    batch.events.push(stampEvent(draft, { runId, sessionId, at, leg: writer.leg }));
    batch.bytes += weighEvent(draft);
  }

  const writer: RunWriter = {
    leg,
    get lastSeq() {
      return queue.lastSeq;
    },
    write(drafts) {
      if (queue.refusal !== null) return Promise.reject(queue.refusal);
      const batch = add(drafts);
      if (batch.events.length === 0) queue.pending = null;
      else commit.submit(queue);
      const mustWait = batch.bytes > maxWaitingBytes || drafts.some(({ type }) => !isLive(type));
      return mustWait ? whenStored(batch) : undefined;
    },
    async flush() {
      const batch = queue.pending ?? queue.inFlight;
      if (batch !== null) await whenStored(batch);
    },
    end(drafts, end) {
      if (queue.refusal !== null) return Promise.reject(queue.refusal);
      const batch = add(drafts);
      batch.end = end;
      queue.refusal = new RuntimeStateError('This run has ended; nothing can be written to it.');
      commit.submit(queue);
      return whenStored(batch);
    },
    close() {
      queue.refusal ??= new RuntimeStateError('This writer is closed.');
      onClose();
    },
  };
  return writer;
}

function whenStored(batch: Batch): Promise<void> {
  return (batch.stored ??= Promise.withResolvers()).promise;
}
