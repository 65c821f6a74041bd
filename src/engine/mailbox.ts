/**
 * A bounded hand-over between one producer that pushes and one consumer that takes all there is: many small chunks cost
 * one promise a batch instead of one each.
 */
export interface Mailbox<T> {
  /** Resolves at once while there is room; a producer that awaits it is held back by a slow consumer. */
  put(item: T): Promise<void> | undefined;
  /** Everything put since the last take; waits while there is nothing. Empty once the box is closed and drained. */
  take(): Promise<readonly T[]>;
  close(): void;
}

export function createMailbox<T>(capacity: number): Mailbox<T> {
  let items: T[] = [];
  let closed = false;
  let wakeConsumer: (() => void) | null = null;
  let wakeProducer: (() => void) | null = null;
  const wake = () => {
    wakeConsumer?.();
    wakeConsumer = null;
  };
  return {
    put(item) {
      if (closed) return undefined;
      items.push(item);
      wake();
      if (items.length < capacity) return undefined;
      return new Promise((resolve) => {
        wakeProducer = resolve;
      });
    },
    async take() {
      if (items.length === 0 && !closed)
        await new Promise<void>((resolve) => {
          wakeConsumer = resolve;
        });
      const taken = items;
      items = [];
      wakeProducer?.();
      wakeProducer = null;
      return taken;
    },
    close() {
      closed = true;
      wake();
      wakeProducer?.();
      wakeProducer = null;
    },
  };
}
