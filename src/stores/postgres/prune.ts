// Retention (E-845): an ended run loses its live events and keeps every fact; the laws P1 to P5 and P7 are those of
// `sqlite/prune.ts`, and what stays of a page is decided in the same place. Here one page is one short transaction, under the
// lock of its run: several nodes that prune at once do each page one after the other, and a page that is pruned already stays.

import type { RunId } from '../../core/ids.ts';
import { integer } from '../rows/columns.ts';
import { noteReplacements, rewriteRows, type Replacements } from '../rows/prune-plan.ts';
import { runId } from '../rows/records.ts';
import type { Store } from '../store.ts';
import { freeUnclaimed } from './contents.ts';
import { forgetMarks, type Database, type Reads, type Transaction } from './database.ts';
import { freeBundles } from './harnesses.ts';
import { batchesAfter } from './read-events.ts';

const page = { limit: 512, units: 262_144 };
const removedAtOnce = 2_000;

/** Prunes what is due, run by run, until nothing is left or the signal aborts. */
export async function prune(
  db: Database,
  { endedBeforeMs, nowMs, signal }: Parameters<Store['prune']>[0],
): Promise<{ keys: number; runs: number }> {
  const pruned = { keys: 0, runs: 0 };
  const isOver = () => signal?.aborted === true;
  await freeUnclaimed(db, nowMs);
  await freeBundles(db, nowMs);
  await forgetMarks(db);
  // Of sessions whose deletion a crash has cut short.
  for (const row of await db.all('SELECT run_no FROM runs WHERE pruned = 3'))
    if (!isOver()) await removeEvents(db, integer(row, 'run_no'));
  while (!isOver()) {
    const next = await nextPrunable(db, endedBeforeMs);
    const keys = next === null ? null : await pruneRun(db, next, signal);
    if (keys === null) break;
    pruned.runs += 1;
    pruned.keys += keys;
  }
  return pruned;
}

const removePage = `
  DELETE FROM event_batches WHERE run_no = $1 AND last_seq <= (
    SELECT max(last_seq) FROM (
      SELECT last_seq FROM event_batches WHERE run_no = $1 ORDER BY last_seq LIMIT ${removedAtOnce}) AS page)`;

/** Takes a deleted run's log away; the run is done with when none is left (`pruned`: 3 before, 4 after). */
export async function removeEvents(db: Database, runNo: number): Promise<void> {
  while ((await db.transaction('fast', (tx) => tx.run(removePage, runNo), 'long')) > 0);
  await db.transaction('fast', (tx) => tx.run('UPDATE runs SET pruned = 4 WHERE run_no = $1 AND pruned = 3', runNo));
}

/** The oldest ended run whose live events are due, or null; not one whose events are being taken away. */
async function nextPrunable(db: Reads, endedBeforeMs: number): Promise<RunId | null> {
  const sql = 'SELECT run_id FROM runs WHERE pruned <> 1 AND pruned <> 3 AND ended_at < $1 ORDER BY ended_at LIMIT 1';
  const row = await db.get(sql, endedBeforeMs);
  return row === undefined ? null : runId(row, 'run_id');
}

/** Gives the keys that went with it; null: it was left half done, for the next prune. */
async function pruneRun(db: Database, id: RunId, signal: AbortSignal | undefined): Promise<number | null> {
  const replacedAt = new Map<string, number>();
  for (let after = 0; ;) {
    const rows = await batchesAfter(db, id, { after, which: 'committed', ...page });
    noteReplacements(replacedAt, rows);
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.lastSeq;
  }
  for (let after: number | null = 0; after !== null;) {
    if (signal?.aborted === true) return null;
    const from: number = after;
    after = await db.transaction('fast', (tx) => prunePage(tx, id, { after: from, replacedAt }), 'long');
  }
  return db.transaction('fast', (tx) => finish(tx, id), 'long');
}

/** Where the next page begins; null: there was none. */
async function prunePage(
  tx: Transaction,
  id: RunId,
  { after, replacedAt }: { readonly after: number; readonly replacedAt: Replacements },
): Promise<number | null> {
  const run = await tx.get('SELECT run_no FROM runs WHERE run_id = $1 FOR UPDATE', id);
  const rows = await batchesAfter(tx, id, { after, which: 'all', ...page });
  const last = rows.at(-1);
  if (run === undefined || last === undefined) return null;
  const runNo = integer(run, 'run_no');
  const place = 'WHERE run_no = $1 AND last_seq = $2';
  for (const { row, body } of rewriteRows(rows, replacedAt)) {
    if (body === null) await tx.run(`DELETE FROM event_batches ${place}`, runNo, row.lastSeq);
    else await tx.run(`UPDATE event_batches SET body = $3 ${place}`, runNo, row.lastSeq, body);
  }
  await tx.run('UPDATE runs SET pruned = 2 WHERE run_no = $1 AND pruned = 0', runNo);
  return last.lastSeq;
}

async function finish(tx: Transaction, id: RunId): Promise<number> {
  // Ids of messages answer for them as long as keys do (UR-33).
  for (const table of ['takeovers', 'messages'])
    await tx.run(`DELETE FROM ${table} WHERE run_no = (SELECT run_no FROM runs WHERE run_id = $1)`, id);
  await tx.run('DELETE FROM queued_tasks WHERE run_id = $1', id);
  // The result of `store: false` lives as long as its idempotency key (UD-07).
  const done = `
    UPDATE runs SET pruned = CASE WHEN pruned = 3 THEN 3 ELSE 1 END, response = CASE WHEN store THEN response END
    WHERE run_id = $1`;
  await tx.run(done, id);
  return tx.run('DELETE FROM idempotency WHERE run_id = $1', id);
}
