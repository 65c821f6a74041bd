/** Begins a reading that goes on where the last one stopped, and ends soon after the signal aborts. */
export type Begin<T> = (leaving: AbortSignal) => AsyncGenerator<T, void>;

/**
 * Readers of one thing, one at a time: who comes second waits, and goes on where the first one stopped.
 * @param atOnce  The first reading begins now, and its first item waits for its reader.
 */
export function takeTurns<T>(begin: Begin<T>, atOnce: boolean): Begin<T> {
  const open = () => {
    const leaving = new AbortController();
    return { leaving, items: begin(leaving.signal) };
  };
  let waiting = atOnce ? prefetched(open()) : null;
  let turn = Promise.resolve();

  return async function* read(leaving) {
    const before = turn;
    let release = () => {};
    turn = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    const reading = waiting ?? { ...open(), first: null };
    waiting = null;
    const leave = () => reading.leaving.abort();
    leaving.addEventListener('abort', leave);
    try {
      if (leaving.aborted) leave();
      const first = await reading.first;
      if (first !== null && first.done !== true) yield first.value;
      yield* reading.items;
    } finally {
      leaving.removeEventListener('abort', leave);
      leave();
      release();
    }
  };
}

function prefetched<T, R extends { readonly items: AsyncGenerator<T, void> }>(reading: R) {
  const first = reading.items.next();
  // Whoever reads gets the error; if nobody does, it is kept by who began the reading.
  first.catch(() => undefined);
  return { ...reading, first };
}
