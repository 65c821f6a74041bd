// The write side of one run: takes what the harness yields within the bound of the log, and says when the harness has to
// wait. Numbers are given by the append alone (E-100).

import type { Clock } from '../core/clock.ts';
import { RuntimeStateError } from '../core/errors.ts';
import { isLive, type EventDraft, type RunEvent } from '../core/run-event.ts';
import type { GroupCommit } from './group-commit.ts';
import type { Append } from './store.ts';
import type { WriteQueue } from './write-queue.ts';

export interface RunWriter {
  /**
   * True once a live event that was written is not in the log: the store lost it, or the log is full (E-143, E-846). What
   * was folded from the drafts may then say more than a replay. Asked right before `end` it is final.
   */
  readonly incomplete: boolean;
  /**
   * Stamps and queues. Only live events: undefined, or a promise to await first when the run's buffer is over its bound.
   * Any committed event: a promise that settles when everything so far is durable, with all committed events that entered
   * the log and were not told before, in its order, numbered: facts from outside where they came in first, one's own, no
   * gaps. Of several writes that wait for one commit the first is told them, the others none.
   * Rejects with LeaseLostError when another process owns the run, with StorageError when the store stays unable.
   */
  write(drafts: readonly EventDraft[]): Promise<readonly RunEvent[]> | undefined;
  /** Settles when everything written so far is stored. */
  flush(): Promise<void>;
  /**
   * The last write, stored whole or not at all: it ends the run in the transaction that stores it (L4). `overtaken`: a fact
   * from outside came first, nothing of it is stored, and the writer takes writes again (E-661).
   */
  end(drafts: readonly EventDraft[], end: NonNullable<Append['end']>): Promise<EndResult>;
  /** The same for a leg: its `run-result` ends nothing and leaves the run without an owner (L6). */
  park(drafts: readonly EventDraft[]): Promise<EndResult>;
  /** No more writes come. What was written before is still stored. */
  close(): void;
}

/** `events`: as `write` tells them; of an ending that was overtaken, what came in. */
export interface EndResult {
  readonly outcome: 'ended' | 'overtaken';
  readonly events: readonly RunEvent[];
}

export interface RunWriterOptions {
  readonly queue: WriteQueue;
  readonly clock: Clock;
  readonly commit: GroupCommit;
  /** Live events beyond it are not stored (E-846). */
  readonly maxLogBytes: number;
  readonly onClose: () => void;
}

/** Live bytes of one run that may wait for a flush before its harness has to. */
const maxWaitingBytes = 65_536;

export function createRunWriter({ queue, clock, commit, maxLogBytes, onClose }: RunWriterOptions): RunWriter {
  let writtenBytes = 0;
  let limited = false;

  function add(draft: EventDraft, at: number): void {
    if (!isLive(draft.type) || writtenBytes < maxLogBytes) writtenBytes += queue.add(draft, at);
    else if (!limited) {
      limited = true;
      const { step, attempt } = draft;
      writtenBytes += queue.add({ type: 'gap', step, attempt, data: { reason: 'log_limit' } }, at);
    }
  }

  async function writeLast(drafts: readonly EventDraft[], end?: Append['end']): Promise<EndResult> {
    if (queue.refusal !== null) throw queue.refusal;
    const outcome = queue.end(drafts, clock.now(), end);
    if (!queue.isIdle) commit.submit(queue);
    return { outcome: await outcome, events: queue.tell() };
  }

  return {
    get incomplete() {
      return limited || queue.incomplete;
    },
    write(drafts) {
      const { refusal } = queue;
      if (refusal !== null) return Promise.reject(refusal);
      const at = clock.now();
      for (const draft of drafts) add(draft, at);
      if (queue.pendingBytes > 0) commit.submit(queue);
      if (drafts.some(({ type }) => !isLive(type))) return queue.stored().then(() => queue.tell());
      return queue.pendingBytes > maxWaitingBytes ? queue.stored().then(() => []) : undefined;
    },
    flush: () => queue.stored(),
    end: writeLast,
    park: (drafts) => writeLast(drafts),
    close() {
      queue.refuse(new RuntimeStateError('This writer is closed.'));
      onClose();
    },
  };
}
