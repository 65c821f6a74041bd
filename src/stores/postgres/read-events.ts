import { DamageError } from '../../core/errors.ts';
import type { RunId } from '../../core/ids.ts';
import type { RunEvent } from '../../core/run-event.ts';
import { decodeEvents, type StoredRow } from '../event-codec.ts';
import { integer, text, type Fields } from '../rows/columns.ts';
import { runId, sessionId } from '../rows/records.ts';
import type { EventRange, LogCursor } from '../store.ts';
import type { Reads } from './database.ts';

/** A page ends early here, so that a reader of large events holds little more than one of them. */
const pageUnits = 1_048_576;

/** Damage ends the page before it; it is reported when the cursor stands right before it (E-804). */
export async function readEvents(db: Reads, id: RunId, range: EventRange): Promise<readonly RunEvent[]> {
  const which = range.committedOnly === true ? 'committed' : 'all';
  const page: RunEvent[] = [];
  for (let { after } = range; page.length === 0;) {
    const rows = await batchesAfter(db, id, { after, which, limit: range.limit, units: pageUnits });
    try {
      for (const row of rows)
        for (const event of decodeEvents(row, which)) if (event.seq > range.after) page.push(event);
    } catch (error) {
      if (page.length === 0) throw error;
    }
    // Rows without any event for this reader end no log.
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.lastSeq;
  }
  return page;
}

/** A few short rows each: so many readers at once still hold little. */
const tail = { rows: 64, units: 16_384 };
const selectTails = `
  SELECT place, run_id, session_id, first_seq, page.last_seq, CASE WHEN octet_length(body) <= ${tail.units} THEN body END AS body
  FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS reader (run_id, after, place) JOIN runs USING (run_id),
    LATERAL (SELECT * FROM event_batches WHERE run_no = runs.run_no AND last_seq > after ORDER BY last_seq LIMIT ${tail.rows}) AS page
  ORDER BY place, page.last_seq`;

/** A long row, or damage, ends a tail before it. */
export async function readTails(db: Reads, cursors: readonly LogCursor[]): Promise<readonly (readonly RunEvent[])[]> {
  const ids = cursors.map((cursor) => cursor.runId);
  const rows = await db.all(
    selectTails,
    ids,
    cursors.map(({ after }) => after),
  );
  const byPlace = Map.groupBy(rows, (row) => integer(row, 'place') - 1);
  return cursors.map(({ after }, place) => tailOf(byPlace.get(place) ?? [], after));
}

function tailOf(rows: readonly Fields[], after: number): readonly RunEvent[] {
  const events: RunEvent[] = [];
  try {
    for (const row of rows) {
      if (row['body'] === null) break;
      for (const event of decodeEvents(storedRow(row), 'all')) if (event.seq > after) events.push(event);
    }
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
  }
  return events;
}

export interface BatchRange {
  readonly after: number;
  /** `committed`: without batches that are known to hold live events only. */
  readonly which: 'all' | 'committed';
  /** About so many events, and so much text, at least one row where there is one. */
  readonly limit: number;
  readonly units: number;
}

/** What stands before a row decides whether it belongs to the page; lengths are known without reading bodies. */
const selectPage = (which: BatchRange['which']) => `
  SELECT run_id, session_id, first_seq, last_seq, body FROM (
    SELECT *, sum(octet_length(body)) OVER before AS units, sum(last_seq - first_seq + 1) OVER before AS events FROM (
      SELECT run_id, session_id, event_batches.* FROM runs JOIN event_batches USING (run_no)
      WHERE run_id = $1 AND last_seq > $2 ${which === 'committed' ? 'AND committed' : ''}
      ORDER BY last_seq LIMIT $3) AS next
    WINDOW before AS (ORDER BY last_seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS page
  WHERE coalesce(units, 0) < $4 AND coalesce(events, 0) < $3 ORDER BY last_seq`;

/** A run's batches that end after the cursor, in order. */
export async function batchesAfter(
  db: Reads,
  id: RunId,
  { after, which, limit, units }: BatchRange,
): Promise<readonly StoredRow[]> {
  return (await db.all(selectPage(which), id, after, limit, units)).map(storedRow);
}

function storedRow(row: Fields): StoredRow {
  return {
    runId: runId(row, 'run_id'),
    sessionId: sessionId(row, 'session_id'),
    firstSeq: integer(row, 'first_seq'),
    lastSeq: integer(row, 'last_seq'),
    body: text(row, 'body'),
  };
}
