import type { RunId } from '../../core/ids.ts';
import type { RunEvent } from '../../core/run-event.ts';
import { decodeEvents, type StoredRow } from '../event-codec.ts';
import { integer, text } from './columns.ts';
import type { Database, Row } from './database.ts';
import { runId, sessionId } from './records.ts';

/** A page ends early here, so that a reader of large events holds little more than one of them. */
const pageUnits = 1_048_576;

const selectRows = `
  SELECT r.run_id, r.session_id, b.first_seq, b.last_seq, b.body
  FROM runs r JOIN event_batches b USING (run_no)
  WHERE r.run_id = ? AND b.last_seq > ? ORDER BY b.last_seq`;

/** A damaged row ends the page before it; it is reported when the cursor stands right before it (E-804). */
export function readEvents(db: Database, id: RunId, range: { after: number; limit: number }): readonly RunEvent[] {
  const page: RunEvent[] = [];
  let units = 0;
  for (const raw of db.iterate(selectRows, id, range.after)) {
    const row = storedRow(raw);
    const events = decodeRow(row, page.length > 0);
    if (events === null) break;
    for (const event of events) if (event.seq > range.after) page.push(event);
    units += row.body.length;
    if (page.length >= range.limit || units >= pageUnits) break;
  }
  return page;
}

/** Null: damaged, and there are events before it to be given first. */
function decodeRow(row: StoredRow, havePage: boolean): RunEvent[] | null {
  try {
    return decodeEvents(row);
  } catch (error) {
    if (havePage) return null;
    throw error;
  }
}

export function storedRow(row: Row): StoredRow {
  return {
    runId: runId(row, 'run_id'),
    sessionId: sessionId(row, 'session_id'),
    firstSeq: integer(row, 'first_seq'),
    lastSeq: integer(row, 'last_seq'),
    body: text(row, 'body'),
  };
}
