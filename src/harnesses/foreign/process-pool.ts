// Places for the processes of runtimes, over all harnesses of a server.
//
// Q1. At most `max` are held at one time. One whose process is being ended is held until that is gone.
// Q2. Who finds no room waits, and nobody who comes later is served before him.
// Q3. For those who wait room is made: the longest idle goes first, then, where more than `maxParked` are parked, the longest
//     parked. One at work is never touched.
// Q4. Whoever waits hears the end of it: a place, his signal's reason, or that it took too long. `maxWaiting` is asked about at
//     the door, before a task is accepted: one that was accepted waits, however many were in the same instant.

import { RuntimeFault } from './runtime.ts';
import type { Clock } from '../../core/clock.ts';

export interface PoolBounds {
  readonly max: number;
  /** Idle ones beyond these go without being asked for room. */
  readonly maxIdle: number;
  /** Runs that wait for a person and keep their process though others wait for room. */
  readonly maxParked: number;
  readonly maxWaiting: number;
  readonly waitSeconds: number;
}

export type PlaceUse = 'busy' | 'idle' | 'parked' | 'leaving';

/** Disposed of when its process is gone. Idempotent. */
export interface Place extends Disposable {
  use(as: PlaceUse): void;
}

export interface PlaceRequest {
  readonly signal: AbortSignal;
  /** Ends what holds the place, and disposes of that in the end. Must not throw. */
  readonly end: () => void;
  /** The number in the queue, from 1, whenever it has changed. Must not throw. */
  readonly onPosition?: (position: number) => void;
}

export interface ProcessPool {
  /** @throws NoRoomError  It took too long. */
  take(request: PlaceRequest): Promise<Place>;
  /** As many wait as may (Q4). */
  readonly isFull: boolean;
}

/** Nothing is wrong with the runtime: there is no room for it now. */
export class NoRoomError extends RuntimeFault {
  constructor(message: string) {
    super({ type: 'AgentUnavailableError', message, retryable: true });
  }
}

interface Held {
  use: PlaceUse;
  readonly end: () => void;
}

interface Waiting {
  readonly request: PlaceRequest;
  position: number;
  give(): void;
}

export function createProcessPool(bounds: PoolBounds, { clock }: { readonly clock: Clock }): ProcessPool {
  /** In the order in which they came to their present use. */
  const held = new Set<Held>();
  const queue = new Set<Waiting>();
  const inUse = (use: PlaceUse) => [...held].filter((each) => each.use === use);
  const hasRoom = () => held.size < bounds.max;
  const nextToEvict = () =>
    inUse('idle')[0] ?? inUse('parked').slice(0, Math.max(0, inUse('parked').length - bounds.maxParked))[0];

  function dismiss(each: Held): void {
    change(each, 'leaving');
    each.end();
  }

  function change(each: Held, use: PlaceUse): void {
    each.use = use;
    held.delete(each);
    held.add(each);
  }

  /** Asked anew in each round: who is dismissed may be gone in the same tick. */
  function settle(): void {
    for (const each of queue) {
      if (!hasRoom()) break;
      queue.delete(each);
      each.give();
    }
    for (let next = nextToEvict(); next !== undefined && queue.size > inUse('leaving').length; next = nextToEvict())
      dismiss(next);
    for (let idle = inUse('idle'); idle[0] !== undefined && idle.length > bounds.maxIdle; idle = inUse('idle'))
      dismiss(idle[0]);
    for (const [index, each] of [...queue].entries()) {
      if (each.position === index + 1) continue;
      each.position = index + 1;
      each.request.onPosition?.(each.position);
    }
  }

  function hold({ end }: PlaceRequest): Place {
    const own: Held = { use: 'busy', end };
    held.add(own);
    return {
      use(as) {
        if (!held.has(own) || own.use === as) return;
        change(own, as);
        settle();
      },
      [Symbol.dispose]() {
        if (held.delete(own)) settle();
      },
    };
  }

  function wait(request: PlaceRequest): Promise<Place> {
    const { signal } = request;
    return new Promise((resolve, reject) => {
      const leave = (say: () => void) => {
        queue.delete(own);
        cancelTimer();
        signal.removeEventListener('abort', stop);
        say();
      };
      const giveUp = (why: unknown) => {
        leave(() => reject(why));
        settle();
      };
      const stop = () => giveUp(signal.reason);
      const tooLate = `No process was free for the task in ${bounds.waitSeconds} s.`;
      const cancelTimer = clock.timer(bounds.waitSeconds * 1_000, () => giveUp(new NoRoomError(tooLate)));
      const own: Waiting = { request, position: 0, give: () => leave(() => resolve(hold(request))) };
      signal.addEventListener('abort', stop);
      queue.add(own);
      settle();
    });
  }

  return {
    async take(request) {
      request.signal.throwIfAborted();
      if (queue.size === 0 && hasRoom()) return hold(request);
      return wait(request);
    },
    get isFull() {
      return !hasRoom() && nextToEvict() === undefined && queue.size >= bounds.maxWaiting;
    },
  };
}
