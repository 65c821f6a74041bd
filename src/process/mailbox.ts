import { setImmediate } from 'node:timers/promises';

/**
 * A bounded hand-over between one producer that pushes and one consumer that takes all there is. What comes in one turn of
 * the event loop, such as the events in one read of a socket, is one batch: what a batch costs its takers, a dozen awaited
 * promises, is ten times what an item costs.
 */
export interface Mailbox<T> {
  /** Undefined while there is room; else resolves when there is, or when the box is closed. May be left unheard. */
  put(item: T): Promise<void> | undefined;
  /** Everything put since the last take; waits while there is nothing. Empty once the box is closed and drained. */
  take(): Promise<readonly T[]>;
  close(): void;
}

export function createMailbox<T>(capacity: number): Mailbox<T> {
  let items: T[] = [];
  let closed = false;
  let filled: (() => void) | null = null;
  // One promise for all who wait for room: a notice put beside a waiting producer must not take its place.
  let room: PromiseWithResolvers<void> | null = null;
  const emptied = () => {
    room?.resolve();
    room = null;
  };
  return {
    put(item) {
      if (closed) return undefined;
      items.push(item);
      filled?.();
      filled = null;
      if (items.length < capacity) return undefined;
      return (room ??= Promise.withResolvers<void>()).promise;
    },
    async take() {
      if (items.length === 0 && !closed)
        await new Promise<void>((resolve) => {
          filled = resolve;
        });
      if (!closed && items.length < capacity) await setImmediate();
      const taken = items;
      items = [];
      emptied();
      return taken;
    },
    close() {
      closed = true;
      filled?.();
      filled = null;
      emptied();
    },
  };
}
