// Retention (E-845): an ended run loses its live events and keeps every fact.
//
// - Committed events stay as they are, under the seq they have; the log then has holes.
// - Deltas of an attempt that nothing replaced, neither `turn-complete` nor `attempt-reset`, are the run's partial output:
//   they are joined, as far as no other block came between, and stand where the first of them stood.
// - The fold of the pruned log gives the same result and transcript as before.
// - Rows are changed in place: a row moved to the end of the table would lie in an era far from its run.

import type { RunId } from '../../core/ids.ts';
import { isLive, type EventPosition, type RunEvent } from '../../core/run-event.ts';
import { decodeEvents, encodeEvents } from '../event-codec.ts';
import { numberEvent } from '../event-shape.ts';
import { mergeDeltas } from '../merge-deltas.ts';
import type { Database } from './database.ts';
import { batchesAfter, type StoredBatch } from './read-events.ts';
import { runId } from './records.ts';

/** The oldest ended run whose live events are due, or undefined. */
export function nextPrunable(db: Database, endedBeforeMs: number): RunId | undefined {
  const row = db.get(
    'SELECT run_id FROM runs WHERE pruned = 0 AND ended_at < ? ORDER BY ended_at LIMIT 1',
    endedBeforeMs,
  );
  return row === undefined ? undefined : runId(row, 'run_id');
}

/** One run, one transaction. */
export function pruneRun(db: Database, id: RunId): void {
  db.transaction('fast', () => {
    const partial = partialOutput(db, id);
    for (let after = 0; ;) {
      const page = batchPage(db, id, after);
      const last = page.at(-1);
      if (last === undefined) break;
      for (const batch of page) pruneBatch(db, batch, partial);
      after = last.row.lastSeq;
    }
    db.run('DELETE FROM takeovers WHERE run_no = (SELECT run_no FROM runs WHERE run_id = ?)', id);
    // The result of `store: false` lives as long as its idempotency key (UD-07).
    db.run('UPDATE runs SET pruned = 1, response = iif(store, response, NULL) WHERE run_id = ?', id);
  });
}

/** Some batches, read to the end: SQLite does not like a table to change under a reader. */
function batchPage(db: Database, id: RunId, after: number): StoredBatch[] {
  const page: StoredBatch[] = [];
  for (const batch of batchesAfter(db, id, after)) if (page.push(batch) === 64) break;
  return page;
}

/** The joined deltas that stay, by the seq that each keeps. */
function partialOutput(db: Database, id: RunId): ReadonlyMap<number, RunEvent> {
  const attempts = new Map<string, Map<string, RunEvent[]>>();
  for (const { row } of batchesAfter(db, id, 0)) {
    for (const event of decodeEvents(row)) {
      if (event.type === 'turn-complete') attempts.delete(attemptKey(event));
      else if (event.type === 'attempt-reset') attempts.delete(attemptKey({ ...event, attempt: event.data.attempt }));
      else if (isLive(event.type) && event.type !== 'waiting') join(attempts, event);
    }
  }
  const joined = [...attempts.values()].flatMap((blocks) => [...blocks.values()].flat());
  return new Map(joined.map((event) => [event.seq, event]));
}

function join(attempts: Map<string, Map<string, RunEvent[]>>, event: RunEvent): void {
  const blocks = attempts.get(attemptKey(event)) ?? new Map<string, RunEvent[]>();
  attempts.set(attemptKey(event), blocks);
  const callId = event.type === 'tool-call-delta' ? event.data.id : null;
  const key = JSON.stringify([event.type, callId]);
  const deltas = blocks.get(key) ?? [];
  blocks.set(key, deltas);
  const last = deltas.at(-1);
  const merged = last === undefined ? undefined : mergeDeltas(last, event);
  if (last !== undefined && merged !== undefined) deltas[deltas.length - 1] = numberEvent(merged, last.seq);
  else deltas.push(event);
}

function attemptKey({ agentPath, step, attempt }: EventPosition): string {
  return JSON.stringify([agentPath, step, attempt]);
}

function pruneBatch(db: Database, { batchNo, row }: StoredBatch, partial: ReadonlyMap<number, RunEvent>): void {
  const events = decodeEvents(row);
  const kept = events.flatMap((event) => (isLive(event.type) ? (partial.get(event.seq) ?? []) : event));
  if (kept.length === 0) db.run('DELETE FROM event_batches WHERE batch_no = ?', batchNo);
  else if (events.some(({ type }) => isLive(type))) {
    db.run('UPDATE event_batches SET body = ? WHERE batch_no = ?', encodeEvents(kept, row.firstSeq), batchNo);
  }
}
