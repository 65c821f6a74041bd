// What followers lack of logs that others write. Those who learn of it in one moment are read for together: of many runs that
// grow at once a query each would cost a database more than the writing does.
//
// R1. There is one such read at a time; who comes meanwhile is in the next one. So the busier it is, the more it joins.
// R2. Followers of one run that are equally far share what was read.
// R3. Who lacks much, or what is not given in common, reads for itself, and learns there of damage (E-804).

import type { RunEvent } from '../core/run-event.ts';
import type { LogCursor, Store } from './store.ts';

/** Gives the events behind a cursor, of a log that goes on to `through` at least. */
export type ReadTail = (cursor: LogCursor, through: number) => Promise<readonly RunEvent[]>;

/** Of one who reads for itself. */
export const pageEvents = 512;
const [tailEvents, mostAtOnce] = [64, 64];

interface Asked {
  readonly cursor: LogCursor;
  readonly tail: PromiseWithResolvers<readonly RunEvent[]>;
}

export function createReadTail(store: Pick<Store, 'readEvents' | 'readTails'>): ReadTail {
  const asked = new Map<string, Asked>();
  let state: 'idle' | 'scheduled' | 'reading' = 'idle';

  function schedule(): void {
    if (state !== 'idle' || asked.size === 0) return;
    state = 'scheduled';
    setImmediate(() => {
      state = 'reading';
      // Cannot reject: a failure is its readers'.
      void readAll().finally(() => {
        state = 'idle';
        schedule();
      });
    });
  }

  async function readAll(): Promise<void> {
    const batch = [...asked].slice(0, mostAtOnce);
    for (const [key] of batch) asked.delete(key);
    try {
      const tails = (await store.readTails?.(batch.map(([, { cursor }]) => cursor))) ?? [];
      for (const [index, [, { tail }]] of batch.entries()) tail.resolve(tails[index] ?? []);
    } catch (cause) {
      for (const [, { tail }] of batch) tail.reject(cause);
    }
  }

  function join(cursor: LogCursor): Promise<readonly RunEvent[]> {
    const key = `${cursor.runId} ${cursor.after}`;
    const known = asked.get(key);
    if (known !== undefined) return known.tail.promise;
    const tail = Promise.withResolvers<readonly RunEvent[]>();
    asked.set(key, { cursor, tail });
    schedule();
    return tail.promise;
  }

  return async (cursor, through) => {
    const { runId, after } = cursor;
    const isNear = store.readTails !== undefined && through - after <= tailEvents;
    const tail = isNear ? await join(cursor) : [];
    return tail.length > 0 ? tail : store.readEvents(runId, { after, limit: pageEvents });
  };
}
