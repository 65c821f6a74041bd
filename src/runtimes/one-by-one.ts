/**
 * The items of batches, one at a time. An item that is there costs one resolved promise; a generator would await it three
 * times over, and that was half of what a delta of a long reply cost.
 */
export function oneByOne<T extends object>(batches: AsyncIterableIterator<readonly T[]>): AsyncIterableIterator<T> {
  let batch: readonly T[] = [];
  let read = 0;
  /** The batch that is waited for: whoever asks meanwhile stands in line behind it. */
  let coming: Promise<unknown> | null = null;

  function next(): Promise<IteratorResult<T>> {
    if (coming !== null) return coming.then(next, next);
    const value = batch[read];
    if (value === undefined) return refill();
    read += 1;
    return Promise.resolve({ done: false, value });
  }

  async function refill(): Promise<IteratorResult<T>> {
    [batch, read] = [[], 0];
    const filled = batches.next();
    coming = filled;
    try {
      const { done, value } = await filled;
      if (done === true) return { done, value: undefined };
      batch = value;
    } finally {
      coming = null;
    }
    return next();
  }

  return {
    next,
    async return() {
      await batches.return?.();
      batch = [];
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
