// Retention (E-845): an ended run loses its live events and keeps every fact.
//
// - Committed events stay as they are, under the seq they have; the log then has holes.
// - Deltas of an attempt that nothing replaced, neither `turn-complete` nor `attempt-reset`, are the run's partial output:
//   they are joined, block by block, and stand where the first of them stood.
// - The fold of the pruned log gives the same result and transcript as before.

import { isLive, type EventPosition, type RunEvent } from '../../core/run-event.ts';
import { decodeEvents, encodeEvents, type StoredRow } from '../event-codec.ts';
import { numberEvent } from '../event-shape.ts';
import { mergeDeltas } from '../merge-deltas.ts';
import { integer } from './columns.ts';
import type { Database } from './database.ts';
import { storedRow } from './read-events.ts';

const pageRows = 64;

/** The oldest ended run whose live events are due, or undefined. */
export function nextPrunable(db: Database, endedBeforeMs: number): number | undefined {
  const row = db.get(
    'SELECT run_no FROM runs WHERE pruned = 0 AND ended_at < ? ORDER BY ended_at LIMIT 1',
    endedBeforeMs,
  );
  return row === undefined ? undefined : integer(row, 'run_no');
}

/** One run, one transaction. */
export function pruneRun(db: Database, runNo: number): void {
  db.transaction('fast', () => {
    const settled = new Set<string>();
    for (const row of rowsOf(db, runNo)) for (const event of decodeEvents(row)) noteSettled(settled, event);
    const partial = new Map<string, RunEvent[]>();
    for (const row of rowsOf(db, runNo)) pruneRow(db, { runNo, row, settled, partial });
    for (const joined of partial.values()) for (const event of joined) insert(db, runNo, [event]);
    // The result of `store: false` lives as long as its idempotency key (UD-07).
    db.run('UPDATE runs SET pruned = 1, response = iif(store, response, NULL) WHERE run_no = ?', runNo);
  });
}

function* rowsOf(db: Database, runNo: number): Generator<StoredRow> {
  const select = `
    SELECT r.run_id, r.session_id, b.first_seq, b.last_seq, b.body FROM runs r JOIN event_batches b USING (run_no)
    WHERE r.run_no = ? AND b.last_seq > ? ORDER BY b.last_seq LIMIT ${pageRows}`;
  for (let after = 0; ;) {
    const page = db.all(select, runNo, after).map(storedRow);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.lastSeq;
  }
}

function attemptKey({ agentPath, step, attempt }: EventPosition): string {
  return JSON.stringify([agentPath, step, attempt]);
}

function noteSettled(settled: Set<string>, event: RunEvent): void {
  if (event.type === 'turn-complete') settled.add(attemptKey(event));
  if (event.type === 'attempt-reset') settled.add(attemptKey({ ...event, attempt: event.data.attempt }));
}

interface RowToPrune {
  readonly runNo: number;
  readonly row: StoredRow;
  readonly settled: ReadonlySet<string>;
  readonly partial: Map<string, RunEvent[]>;
}

function pruneRow(db: Database, { runNo, row, settled, partial }: RowToPrune): void {
  const events = decodeEvents(row);
  const live = events.filter(({ type }) => isLive(type));
  if (live.length === 0) return;
  for (const event of live) if (event.type !== 'waiting' && !settled.has(attemptKey(event))) join(partial, event);
  db.run('DELETE FROM event_batches WHERE run_no = ? AND last_seq = ?', runNo, row.lastSeq);
  for (const group of consecutive(events.filter(({ type }) => !isLive(type)))) insert(db, runNo, group);
}

function join(partial: Map<string, RunEvent[]>, event: RunEvent): void {
  const callId = event.type === 'tool-call-delta' ? event.data.id : null;
  const key = JSON.stringify([event.type, attemptKey(event), event.block, callId]);
  const joined = partial.get(key) ?? [];
  const last = joined.at(-1);
  const merged = last === undefined ? undefined : mergeDeltas(last, event);
  if (last !== undefined && merged !== undefined) joined[joined.length - 1] = numberEvent(merged, last.seq);
  else joined.push(event);
  partial.set(key, joined);
}

function consecutive(events: readonly RunEvent[]): RunEvent[][] {
  const groups: RunEvent[][] = [];
  for (const event of events) {
    const group = groups.at(-1);
    if (group?.at(-1)?.seq === event.seq - 1) group.push(event);
    else groups.push([event]);
  }
  return groups;
}

function insert(db: Database, runNo: number, events: readonly RunEvent[]): void {
  const [first, last] = [events[0], events.at(-1)];
  if (first === undefined || last === undefined) return;
  const sql = 'INSERT INTO event_batches (run_no, first_seq, last_seq, body) VALUES (?, ?, ?, ?)';
  db.run(sql, runNo, first.seq, last.seq, encodeEvents(events));
}
