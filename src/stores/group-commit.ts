// Group commit: what all runs wrote within one window is one transaction. Owns when the store is asked; what
// waits for it, and what becomes of it, is each run's `write-queue.ts`.
//
// C1. The window's edge leads: after a pause a batch goes with this turn of the event loop, under load one window after
//     the last transaction ended. So an idle server answers at once, and a busy one groups.
// C2. One queue's refusal or failure does not touch another queue.
// C3. A crowd is grouped more as it costs more: after a commit of many runs the pause is at least four times what it took,
//     up to two windows. So committing takes a fifth of the time at most, and a server at its limit joins more events in
//     each row and each write instead of falling behind.

import type { Clock } from '../core/clock.ts';
import { RefusedEntryError, StorageError } from '../core/errors.ts';
import type { AppendResult, Store } from './store.ts';
import type { WriteOutcome, WriteQueue } from './write-queue.ts';

export interface GroupCommitOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly windowMs: number;
  /** Nothing of the queue waits any more. */
  readonly onIdle: (queue: WriteQueue) => void;
  /** What each transaction took. */
  readonly onCommit?: ((tookMs: number) => void) | undefined;
}

export interface GroupCommit {
  /** Says that the queue has something to store. */
  submit(queue: WriteQueue): void;
  /** Resolves when nothing waits any more: stored, or given up (Q3). */
  drain(): Promise<void>;
}

const pageEvents = 512;
/** Runs in one commit from which on its cost counts (C3). */
const crowd = 32;

export function createGroupCommit({ store, clock, windowMs, onIdle, onCommit }: GroupCommitOptions): GroupCommit {
  const waiting = new Set<WriteQueue>();
  let state: 'idle' | 'scheduled' | 'flushing' = 'idle';
  let pauseMs = windowMs;
  let pausedFromMs = Number.NEGATIVE_INFINITY;
  let drained: PromiseWithResolvers<void> | null = null;

  function pauseAfter(tookMs: number): number {
    return Math.min(Math.max(windowMs, 4 * tookMs), 2 * windowMs);
  }

  function schedule(): void {
    if (state !== 'idle' || waiting.size === 0) return;
    state = 'scheduled';
    const elapsedMs = clock.now() - pausedFromMs;
    // A wall clock that was set back must not hold the writes up.
    if (elapsedMs < 0 || elapsedMs >= pauseMs) setImmediate(start);
    else clock.timer(pauseMs - elapsedMs, start);
  }

  function start(): void {
    state = 'flushing';
    // `flush` cannot reject: every failure is an outcome of a queue.
    void flush().finally(() => {
      state = 'idle';
      pausedFromMs = clock.now();
      if (waiting.size === 0) drained?.resolve();
      schedule();
    });
  }

  async function flush(): Promise<void> {
    const queues = [...waiting];
    waiting.clear();
    const startedMs = clock.now();
    const outcomes = await send(store, queues);
    const tookMs = clock.now() - startedMs;
    onCommit?.(tookMs);
    pauseMs = queues.length < crowd ? windowMs : pauseAfter(tookMs);
    const behind: WriteQueue[] = [];
    for (const [index, queue] of queues.entries()) {
      const outcome = outcomes[index];
      if (outcome?.outcome === 'wrong-position') behind.push(queue);
      else if (outcome !== undefined) queue.settle(outcome, clock.now());
    }
    for (const queue of behind) queue.settle(await readAhead(store, queue), clock.now());
    for (const queue of queues) {
      pauseMs = Math.max(pauseMs, queue.retryInMs);
      if (queue.isIdle) onIdle(queue);
      else waiting.add(queue);
    }
  }

  return {
    submit(queue) {
      waiting.add(queue);
      schedule();
    },
    async drain() {
      if (state === 'idle' && waiting.size === 0) return;
      drained ??= Promise.withResolvers();
      return drained.promise;
    },
  };
}

/** What stands where the queue believed the log to end; a page of it, for the next try finds the rest. Never rejects. */
async function readAhead(store: Store, { runId, lastSeq }: WriteQueue): Promise<WriteOutcome> {
  try {
    return { outcome: 'met', events: await store.readEvents(runId, { after: lastSeq, limit: pageEvents }) };
  } catch (cause) {
    return { outcome: 'failed', cause };
  }
}

type Sent = AppendResult | Extract<WriteOutcome, { outcome: 'failed' | 'refused' }>;

/** One transaction, and what became of each queue's part of it. Never rejects. */
async function send(store: Store, queues: readonly WriteQueue[]): Promise<readonly Sent[]> {
  const entries = queues.map((queue) => queue.nextEntry());
  try {
    return await store.append(entries, { durable: queues.some(({ needsSync }) => needsSync) });
  } catch (cause) {
    const isRefusal = cause instanceof RefusedEntryError || !(cause instanceof StorageError);
    if (!isRefusal) return queues.map(() => ({ outcome: 'failed', cause }));
    if (queues.length === 1) return [{ outcome: 'refused', cause }];
    // Not the store's trouble but an entry that cannot be stored at all: alone it harms nobody else (C2).
    return (await Promise.all(queues.map((queue) => send(store, [queue])))).flat();
  }
}
