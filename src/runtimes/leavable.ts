/**
 * A generator that can be left while a `next()` is pending: its own `return` would wait in line behind that, and the run
 * would work on for a reader that is gone (E-032, E-041).
 * @param leave  Makes a pending `next()` come to its end, and closes the generator behind it: waits for that, or not.
 */
export function leavable<T>(
  items: AsyncGenerator<T>,
  leave: (close: () => Promise<unknown>) => Promise<void>,
): AsyncIterableIterator<T> {
  return {
    next: () => items.next(),
    async return() {
      await leave(() => items.return(undefined));
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
