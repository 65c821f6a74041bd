import { encodeEvents } from '../event-codec.ts';
import { numberEvents } from '../event-shape.ts';
import type { Append, AppendResult } from '../store.ts';
import { integer } from './columns.ts';
import type { Database } from './database.ts';

// Fence, position and write in one statement: this is the hot path of the whole system.
const insertBatch = `
  INSERT INTO event_batches (run_no, first_seq, last_seq, body)
  SELECT run_no, ?, ?, ? FROM runs
  WHERE run_id = ? AND generation = ? AND status = 'running'
    AND ? = (SELECT coalesce(max(last_seq), 0) FROM event_batches b WHERE b.run_no = runs.run_no)`;

export function append(db: Database, batch: readonly Append[], durable: boolean): AppendResult[] {
  // Encoded before the transaction begins: a value that is no JSON fails here, with nothing locked or written.
  const bodies = batch.map(({ events }) => encodeEvents(events));
  return db.transaction(durable ? 'durable' : 'fast', () =>
    batch.map((entry, index) => appendEntry(db, entry, bodies[index] ?? '[]')),
  );
}

function appendEntry(db: Database, entry: Append, body: string): AppendResult {
  const { runId, generation, after, events, end } = entry;
  const last = after + events.length;
  const stored = events.length > 0 && db.run(insertBatch, after + 1, last, body, runId, generation, after) === 1;
  if (!stored) return refuse(db, entry);
  if (end !== undefined) endRun(db, runId, end);
  return { outcome: 'stored', events: numberEvents(events, after) };
}

const selectPosition = `
  SELECT coalesce(max(last_seq), 0) AS last_seq FROM runs LEFT JOIN event_batches USING (run_no)
  WHERE run_id = ? AND generation = ? AND status = 'running' GROUP BY run_no`;

function refuse(db: Database, { runId, generation, after, events }: Append): AppendResult {
  const row = db.get(selectPosition, runId, generation);
  if (row === undefined) return { outcome: 'lease-lost' };
  const lastSeq = integer(row, 'last_seq');
  return lastSeq === after && events.length === 0
    ? { outcome: 'stored', events: [] }
    : { outcome: 'wrong-position', lastSeq };
}

const setEnd = `
  UPDATE runs SET status = ?, ended_at = ?, owner = NULL, response = iif(deleted, NULL, ?) WHERE run_id = ?`;
const freeSession = `
  UPDATE sessions SET running_run_id = NULL, updated_at = ?
  WHERE session_id = (SELECT session_id FROM runs WHERE run_id = ?) AND running_run_id = ?`;

function endRun(db: Database, runId: string, { status, response, atMs }: NonNullable<Append['end']>): void {
  const body = response === null ? null : JSON.stringify(response);
  db.run(setEnd, status, atMs, body, runId);
  db.run(freeSession, atMs, runId, runId);
}
