import { isLive } from '../../core/run-event.ts';
import { encodeEvents } from '../event-codec.ts';
import { numberEvents } from '../event-shape.ts';
import type { Append, AppendResult, UnnumberedEvent } from '../store.ts';
import { cancelApprovals } from './approvals.ts';
import type { Database, Reads, Transaction } from './database.ts';
import { indexEvents } from './index-events.ts';
import { noteForWebhooks } from './webhooks.ts';
import { endOccasion } from '../rows/webhook-occasion.ts';
import { spend } from './principals.ts';
import type { RunNumbers } from './run-numbers.ts';
import { integer, text } from '../rows/columns.ts';

export interface Appender {
  readonly db: Database;
  readonly numbers: RunNumbers;
}

export function append(
  { db, numbers }: Appender,
  batch: readonly Append[],
  sync: 'durable' | 'fast',
): readonly AppendResult[] {
  // Encoded before the transaction begins: a value that is no JSON fails here, with nothing locked or written.
  const bodies = batch.map(({ events }) => encodeEvents(events));
  return db.transaction(sync, (tx) =>
    batch.map((entry, index) => appendEntry({ tx, numbers }, entry, bodies[index] ?? '[]')),
  );
}

// The hot path of the whole system. Fence, position and the new position are one statement.
const moveHead = 'UPDATE heads SET last_seq = ? WHERE run_no = ? AND generation = ? AND last_seq = ? AND open = 1';
export const insertBatch =
  'INSERT INTO event_batches (run_no, first_seq, last_seq, body, committed) VALUES (?, ?, ?, ?, ?)';

interface Writing {
  readonly tx: Transaction;
  readonly numbers: RunNumbers;
}

function appendEntry({ tx, numbers }: Writing, entry: Append, body: string): AppendResult {
  const { runId, generation, after, events, end } = entry;
  const runNo = numbers.of(runId);
  if (runNo === undefined) return { outcome: 'lease-lost' };
  const last = after + events.length;
  if (tx.run(moveHead, last, runNo, generation, after) === 0) return refuse(tx, runNo, entry);
  const committed = mayHoldCommitted(events);
  if (events.length > 0) tx.run(insertBatch, runNo, after + 1, last, body, committed);
  if (committed === 1) indexEvents(tx, runNo, events);
  if (end !== undefined) {
    endRun(tx, runNo, end);
    numbers.forget(runId);
  }
  return { outcome: 'stored', events: numberEvents(events, after) };
}

/** The column `committed`: readers of committed events pass batches without any over. */
function mayHoldCommitted(events: readonly UnnumberedEvent[]): 0 | 1 {
  return events.every(({ type }) => isLive(type)) ? 0 : 1;
}

/** Also where the log has ended: whoever was not told that its ending was stored finds it where it stands. */
function refuse(tx: Reads, runNo: number, { generation, after }: Append): AppendResult {
  const head = tx.get('SELECT last_seq FROM heads WHERE run_no = ? AND generation = ?', runNo, generation);
  const lastSeq = head === undefined ? after : integer(head, 'last_seq');
  return lastSeq === after ? { outcome: 'lease-lost' } : { outcome: 'wrong-position', lastSeq };
}

const endOfRun = `
  UPDATE runs SET status = ?, ended_at = ?, owner = NULL, response = iif(deleted, NULL, ?),
    last_batch = (SELECT max(batch_no) FROM event_batches)
  WHERE run_no = ?`;
const cancelChildren = `
  UPDATE runs SET control = 'cancel'
  WHERE parent_run_id = (SELECT run_id FROM runs WHERE run_no = ?) AND status = 'running'`;
const freeSession = `
  UPDATE sessions SET running_run_id = NULL, updated_at = ?, queue_held = queue_held OR (? <> 'completed' AND EXISTS
    (SELECT 1 FROM queued_tasks WHERE queued_tasks.session_id = sessions.session_id AND run_id IS NULL))
  FROM runs WHERE run_no = ? AND sessions.session_id = runs.session_id AND running_run_id = runs.run_id`;

/**
 * In the transaction of the run's last event: it has its status, its response is readable, its session is free (L4). What
 * waits behind a run that did not complete is held back before anybody can start it (E-664).
 */
function endRun(tx: Transaction, runNo: number, end: NonNullable<Append['end']>): void {
  const { status, response, atMs, spent } = end;
  tx.run('UPDATE heads SET open = 0 WHERE run_no = ?', runNo);
  tx.run(endOfRun, status, atMs, response === null ? null : JSON.stringify(response), runNo);
  cancelApprovals(tx, runNo, atMs);
  tx.run(cancelChildren, runNo);
  tx.run(freeSession, atMs, status, runNo);
  if (spent !== undefined) charge(tx, runNo, { ...spent, atMs });
  noteForWebhooks(tx, endOccasion(runNo, end));
}

/** A run that works for another one is paid for by that. */
function charge(
  tx: Transaction,
  runNo: number,
  { atMs, ...more }: NonNullable<NonNullable<Append['end']>['spent']> & { readonly atMs: number },
): void {
  const row = tx.get('SELECT principal FROM runs WHERE run_no = ? AND parent_run_id IS NULL', runNo);
  if (row === undefined) return;
  const day = new Date(atMs).toISOString().slice(0, 10);
  spend(tx, { principal: text(row, 'principal'), day, more });
}
