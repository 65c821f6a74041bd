/**
 * A generator that can be left while a `next()` is pending: its own `return` would wait in line behind that, and the run
 * would work on for a reader that is gone (E-032, E-041).
 * @param leave  Makes a pending `next()` come to its end.
 */
export function leavable<T>(items: AsyncGenerator<T>, leave: () => Promise<void>): AsyncIterableIterator<T> {
  return {
    next: () => items.next(),
    async return() {
      await leave();
      return items.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
