import type { RunId } from '../../core/ids.ts';
import type { RunEvent } from '../../core/run-event.ts';
import { decodeEvents, type StoredRow } from '../event-codec.ts';
import type { EventRange } from '../store.ts';
import type { Reads } from './database.ts';
import { integer, text } from '../rows/columns.ts';
import { sessionId } from '../rows/records.ts';

/** A page ends early here, so that a reader of large events holds little more than one of them. */
const pageUnits = 1_048_576;

/** Damage ends the page before it; it is reported when the cursor stands right before it (E-804). */
export function readEvents(db: Reads, id: RunId, { after, limit, committedOnly }: EventRange): readonly RunEvent[] {
  const which = committedOnly === true ? 'committed' : 'all';
  const page: RunEvent[] = [];
  let units = 0;
  try {
    for (const { row } of batchesAfter(db, id, { after, which })) {
      for (const event of decodeEvents(row, which)) if (event.seq > after) page.push(event);
      units += row.body.length;
      if (page.length >= limit || (page.length > 0 && units >= pageUnits)) break;
    }
  } catch (error) {
    if (page.length === 0) throw error;
  }
  return page;
}

export interface StoredBatch {
  readonly batchNo: number;
  readonly row: StoredRow;
}

export interface BatchRange {
  readonly after: number;
  /** `committed`: without batches that are known to hold live events only. */
  readonly which: 'all' | 'committed';
}

const selectStretches = `
  SELECT run_no, session_id, stretches.first_batch >> 11 AS first_era, stretches.last_batch >> 11 AS last_era
  FROM runs JOIN stretches USING (run_no) WHERE run_id = ?1
  UNION ALL
  SELECT run_no, session_id, first_batch >> 11,
    coalesce(last_batch, (SELECT max(batch_no) FROM event_batches)) >> 11
  FROM runs WHERE run_id = ?1
  ORDER BY first_era`;
const selectBatches = `
  SELECT batch_no, first_seq, last_seq, body FROM event_batches
  WHERE batch_no >> 11 = ? AND run_no = ? AND last_seq > ? AND committed >= ? ORDER BY last_seq`;

/** A run's batches that end after the cursor, in order, era by era. */
export function* batchesAfter(db: Reads, runId: RunId, { after, which }: BatchRange): Generator<StoredBatch> {
  let nextEra = 0;
  for (const stretch of db.all(selectStretches, runId)) {
    const [runNo, session] = [integer(stretch, 'run_no'), sessionId(stretch, 'session_id')];
    const lastEra = integer(stretch, 'last_era');
    // Two stretches may lie in one era.
    for (let era = Math.max(nextEra, integer(stretch, 'first_era')); era <= lastEra; era++) {
      for (const row of db.iterate(selectBatches, era, runNo, after, which === 'all' ? 0 : 1)) {
        const [firstSeq, lastSeq] = [integer(row, 'first_seq'), integer(row, 'last_seq')];
        const stored = { runId, sessionId: session, firstSeq, lastSeq, body: text(row, 'body') };
        yield { batchNo: integer(row, 'batch_no'), row: stored };
      }
    }
    nextEra = lastEra + 1;
  }
}
