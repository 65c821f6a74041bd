// Retention (E-845): an ended run loses its live events and keeps every fact. One page of batches is one short transaction,
// and the event loop comes by between two of them.
//
// P1. Committed events stay as they are, under the seq they have; the log then has holes.
// P2. Deltas of an attempt that nothing replaced, neither `turn-complete` nor `attempt-reset`, are the run's partial output:
//     they are joined, as far as no other block came between, and stand where the first of them stood. What a tool showed
//     while it ran is no output of the run: its result is.
// P3. Joins stay inside a page, so each page leaves a whole log: its fold gives the same result and transcript. Pruning
//     what is pruned changes neither, so a run that was left half done begins again.
// P4. A run counts as pruned from its first changed page on, and is done with its last.
// P5. A damaged batch stays as it is and keeps nothing else from being pruned; what it may have replaced stays too.
// P6. Rows are changed in place: a row moved to the end of the table would lie in an era far from its run.
// P7. A run of a deleted session keeps no event. Whoever began to take them away, the next prune goes on with it; only then
//     is the run pruned as any other, with its keys.

import type { RunId } from '../../core/ids.ts';
import { noteReplacements, rewriteRows, type Replacements } from '../rows/prune-plan.ts';
import type { Store } from '../store.ts';
import { freeUnclaimed } from './contents.ts';
import type { Database, Reads, Transaction } from './database.ts';
import { batchesAfter, type BatchRange, type StoredBatch } from './read-events.ts';
import { freeBundles } from './harnesses.ts';
import { integer } from '../rows/columns.ts';
import { runId } from '../rows/records.ts';

/** What one transaction reads and rewrites: some milliseconds of work. */
const pageBounds = { batches: 128, units: 262_144 };

/** Prunes what is due, run by run, until nothing is left or the signal aborts. */
export async function prune(
  db: Database,
  { endedBeforeMs, nowMs, signal }: Parameters<Store['prune']>[0],
): Promise<{ keys: number; runs: number }> {
  const pruned = { keys: 0, runs: 0 };
  freeUnclaimed(db, nowMs);
  freeBundles(db, nowMs);
  for (const step of pruneSteps(db, endedBeforeMs)) {
    if (step !== 'page') {
      pruned.runs += 1;
      pruned.keys += step.keys;
    }
    await new Promise((resolve) => setImmediate(resolve));
    if (signal?.aborted === true) break;
  }
  return pruned;
}

/** A piece of work was done: one page, or the last of a run, with whom so many keys went. */
type Step = 'page' | { readonly keys: number };

function* pruneSteps(db: Database, endedBeforeMs: number): Generator<Step> {
  // Of sessions whose deletion a crash has cut short.
  for (const row of db.all('SELECT run_no FROM runs WHERE pruned = 3')) yield* removeEvents(db, integer(row, 'run_no'));
  for (let next = nextPrunable(db, endedBeforeMs); next !== undefined; next = nextPrunable(db, endedBeforeMs)) {
    yield* pruneRun(db, next);
  }
}

/** Takes a deleted run's log away, era by era; the run is done with when none is left (`pruned`: 3 before, 4 after). */
export function* removeEvents(db: Database, runNo: number): Generator<'page'> {
  const eras = db.all(selectEras, runNo).flatMap((row) => {
    const [first, last] = [integer(row, 'first_era'), integer(row, 'last_era')];
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  for (const era of new Set(eras)) {
    db.transaction('fast', (tx) =>
      tx.run('DELETE FROM event_batches WHERE batch_no >> 11 = ? AND run_no = ?', era, runNo),
    );
    yield 'page';
  }
  db.transaction('fast', (tx) => {
    tx.run('DELETE FROM stretches WHERE run_no = ?', runNo);
    tx.run('UPDATE runs SET pruned = 4 WHERE run_no = ? AND pruned = 3', runNo);
  });
}

const selectEras = `
  SELECT first_batch >> 11 AS first_era, last_batch >> 11 AS last_era FROM stretches WHERE run_no = ?1
  UNION ALL
  SELECT first_batch >> 11, coalesce(last_batch, (SELECT max(batch_no) FROM event_batches), first_batch) >> 11 FROM runs WHERE run_no = ?1`;

/** The oldest ended run whose live events are due, or undefined; not one whose events are being taken away. */
function nextPrunable(db: Reads, endedBeforeMs: number): RunId | undefined {
  const sql = 'SELECT run_id FROM runs WHERE pruned <> 1 AND pruned <> 3 AND ended_at < ? ORDER BY ended_at LIMIT 1';
  const row = db.get(sql, endedBeforeMs);
  return row === undefined ? undefined : runId(row, 'run_id');
}

function* pruneRun(db: Database, id: RunId): Generator<Step> {
  const replacedAt = new Map<string, number>();
  for (let cursor = 0; ;) {
    const { batches, next }: Page = readPage(db, id, { after: cursor, which: 'committed' });
    noteReplacements(
      replacedAt,
      batches.map(({ row }) => row),
    );
    if (next === null) break;
    yield 'page';
    cursor = next;
  }
  for (let cursor = 0; ;) {
    const { next, keys }: PrunedPage = db.transaction('fast', (tx) => prunePage(tx, id, { after: cursor, replacedAt }));
    if (next === null) return yield { keys };
    yield 'page';
    cursor = next;
  }
}

interface Page {
  readonly batches: readonly StoredBatch[];
  /** Cursor of the page behind this one; null when there is none. */
  readonly next: number | null;
}

interface PrunedPage {
  readonly next: Page['next'];
  /** Keys that went with the run's last page. */
  readonly keys: number;
}

/** Some batches, read to the end: SQLite does not like a table to change under a reader. */
function readPage(db: Reads, id: RunId, range: BatchRange): Page {
  const batches: StoredBatch[] = [];
  let units = 0;
  for (const batch of batchesAfter(db, id, range)) {
    batches.push(batch);
    units += batch.row.body.length;
    if (batches.length === pageBounds.batches || units >= pageBounds.units) return { batches, next: batch.row.lastSeq };
  }
  return { batches, next: null };
}

function prunePage(
  tx: Transaction,
  id: RunId,
  { after, replacedAt }: { readonly after: number; readonly replacedAt: Replacements },
): PrunedPage {
  const { batches, next } = readPage(tx, id, { after, which: 'all' });
  const numbers = new Map(batches.map(({ batchNo, row }) => [row, batchNo]));
  for (const { row, body } of rewriteRows([...numbers.keys()], replacedAt)) {
    const batchNo = numbers.get(row) ?? 0;
    if (body === null) tx.run('DELETE FROM event_batches WHERE batch_no = ?', batchNo);
    else tx.run('UPDATE event_batches SET body = ? WHERE batch_no = ?', body, batchNo);
  }
  if (next === null) return { next, keys: finish(tx, id) };
  tx.run('UPDATE runs SET pruned = 2 WHERE run_id = ? AND pruned = 0', id);
  return { next, keys: 0 };
}

function finish(tx: Transaction, id: RunId): number {
  tx.run('DELETE FROM takeovers WHERE run_no = (SELECT run_no FROM runs WHERE run_id = ?)', id);
  // Ids of messages answer for them as long as keys do (UR-33).
  tx.run('DELETE FROM messages WHERE run_no = (SELECT run_no FROM runs WHERE run_id = ?)', id);
  tx.run('DELETE FROM queued_tasks WHERE run_id = ?', id);
  // The result of `store: false` lives as long as its idempotency key (UD-07).
  const done = 'UPDATE runs SET pruned = iif(pruned = 3, 3, 1), response = iif(store, response, NULL) WHERE run_id = ?';
  tx.run(done, id);
  return tx.run('DELETE FROM idempotency WHERE run_id = ?', id);
}
