// Places for tasks at work, over all sessions of a process (UD-59).
//
// S1. At most `concurrent` hold a place at one time. Who comes later waits in order; what was begun before goes first.
// S2. A place is asked for before its task is admitted: a full queue refuses with nothing written.
// S3. What works for a task, and waits for nobody's place, needs none: no task can wait for one that waits for it.
// S4. Every place is given back, also one that nobody came to hold.

import { untilAborted } from '../core/until-aborted.ts';

/** Disposed of once its task is over or parked. */
export interface RunSlot extends Disposable {
  /** Resolves when the task may begin. Rejects with the signal's reason as soon as that aborts. */
  free(signal: AbortSignal): Promise<void>;
}

export interface RunSlots {
  /** For a new task; null: as many wait as may. */
  take(): RunSlot | null;
  /** For one that was begun before: it is never refused. */
  takeAgain(): RunSlot;
}

export interface SlotBounds {
  /** Null: as many as come. */
  readonly concurrent: number | null;
  /** New tasks that may wait. */
  readonly queued: number;
}

export function createRunSlots({ concurrent, queued }: SlotBounds): RunSlots {
  const [begun, fresh] = [new Set<() => void>(), new Set<() => void>()];
  let used = 0;
  const hasRoom = () => concurrent === null || used < concurrent;

  function giveOut(): void {
    for (const line of [begun, fresh])
      for (const hold of line) {
        if (!hasRoom()) return;
        line.delete(hold);
        used += 1;
        hold();
      }
  }

  function join(line: Set<() => void>): RunSlot {
    const free = Promise.withResolvers<void>();
    let state: 'waiting' | 'held' | 'over' = 'waiting';
    const hold = () => {
      state = 'held';
      free.resolve();
    };
    line.add(hold);
    giveOut();
    return {
      free: (signal) => untilAborted(free.promise, signal),
      [Symbol.dispose]() {
        line.delete(hold);
        if (state === 'held') used -= 1;
        state = 'over';
        giveOut();
      },
    };
  }

  return {
    take: () => (!hasRoom() && fresh.size >= queued ? null : join(fresh)),
    takeAgain: () => join(begun),
  };
}
