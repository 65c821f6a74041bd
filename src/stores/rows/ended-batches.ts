import { isLive } from '../../core/run-event.ts';
import { encodeEvents } from '../event-codec.ts';
import type { EndedRun } from '../store.ts';

/** Of one row: whoever reads a page decodes whole ones. */
const batchEvents = 500;

interface EncodedBatch {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly body: string;
  readonly committed: 0 | 1;
}

/** The rows of a log that comes whole. */
export function batchesOf({ events }: EndedRun): readonly EncodedBatch[] {
  const batches: EncodedBatch[] = [];
  for (let at = 0, firstSeq = 1; at < events.length; at += batchEvents) {
    const some = events.slice(at, at + batchEvents);
    const lastSeq = some.at(-1)?.seq ?? firstSeq;
    const committed = some.every(({ type }) => isLive(type)) ? 0 : 1;
    batches.push({ firstSeq, lastSeq, body: encodeEvents(some, firstSeq), committed });
    firstSeq = lastSeq + 1;
  }
  return batches;
}
