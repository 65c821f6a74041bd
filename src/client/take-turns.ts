/** Begins a reading that goes on where the last one stopped, and ends soon after the signal aborts. */
export type Begin<T> = (leaving: AbortSignal) => AsyncGenerator<T, void>;

interface Reading<T> {
  readonly leaving: AbortController;
  readonly items: AsyncGenerator<T, void>;
  /** Null: nothing was asked for yet. */
  readonly first: Promise<IteratorResult<T, void>> | null;
}

/**
 * Readers of one thing, one at a time: who comes second waits, and goes on where the first one stopped.
 * @param atOnce  The first reading begins now, and its first item waits for its reader.
 */
export function takeTurns<T>(begin: Begin<T>, atOnce: boolean): Begin<T> {
  let waiting = atOnce ? openAtOnce(begin) : null;
  let turn = Promise.resolve();

  return async function* read(leaving) {
    const before = turn;
    let release = () => {};
    turn = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    const reading = waiting ?? open(begin);
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
      reading.items.return().catch(() => undefined);
      release();
    }
  };
}

function open<T>(begin: Begin<T>): Reading<T> {
  const leaving = new AbortController();
  return { leaving, items: begin(leaving.signal), first: null };
}

function openAtOnce<T>(begin: Begin<T>): Reading<T> {
  const reading = open(begin);
  const first = reading.items.next();
  // Whoever reads gets the error; nobody has to.
  first.catch(() => undefined);
  return { ...reading, first };
}
