import { insertBatch } from './append.ts';
import { batchesOf } from '../rows/ended-batches.ts';
import { nextTurn, takeSession } from './admit.ts';
import type { Database, Transaction } from './database.ts';
import { NotKeptError } from '../not-kept-error.ts';
import type { EndedRun } from '../store.ts';
import { integer, text } from '../rows/columns.ts';

/** Nothing is indexed: no approval of it is open, no file of it is here, and no webhook hears of it. */
export function keepEnded(db: Database, runs: readonly EndedRun[]): readonly boolean[] {
  const encoded = runs.map((run) => [run, batchesOf(run)] as const);
  return db.transaction('durable', (tx) => encoded.map(([run, batches]) => keep(tx, run, batches)));
}

function keep(tx: Transaction, run: EndedRun, batches: ReturnType<typeof batchesOf>): boolean {
  const { runId, title, previousRunId, principal, sessionId, atMs } = run;
  const known = tx.get('SELECT principal FROM runs WHERE run_id = ?', runId);
  if (known !== undefined && text(known, 'principal') === principal) return false;
  const refusal =
    known === undefined
      ? takeSession(tx, { ...run, ...(previousRunId === null ? { newSession: { title } } : {}) })
      : ({ outcome: 'no-session' } as const);
  if (refusal !== null) throw new NotKeptError(run, refusal);
  insertRun(tx, run);
  const head = `INSERT INTO heads (run_no, generation, last_seq, open) VALUES (last_insert_rowid(), 1, ?, 0) RETURNING run_no`;
  const row = tx.get(head, run.events.at(-1)?.seq ?? 0);
  const runNo = row === undefined ? 0 : integer(row, 'run_no');
  for (const { firstSeq, lastSeq, body, committed } of batches)
    tx.run(insertBatch, runNo, firstSeq, lastSeq, body, committed);
  tx.run('UPDATE runs SET last_batch = (SELECT max(batch_no) FROM event_batches) WHERE run_no = ?', runNo);
  tx.run('UPDATE sessions SET updated_at = max(updated_at, ?) WHERE session_id = ?', atMs, sessionId);
  return true;
}

const insert = `
  INSERT INTO runs
    (run_id, session_id, harness_id, principal, turn, previous_run_id, store, created_at, ended_at, status, response,
     pruned, first_batch)
  VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, (SELECT coalesce(max(batch_no), 0) + 1 FROM event_batches))`;

function insertRun(tx: Transaction, run: EndedRun): void {
  const { runId, sessionId, harnessId, principal, previousRunId, atMs, status, response, events } = run;
  const facts = [runId, sessionId, harnessId, principal, nextTurn(tx, sessionId), previousRunId];
  const pruned = events.at(-1)?.seq === events.length ? 0 : 1;
  tx.run(
    insert,
    ...facts,
    events[0]?.at ?? atMs,
    atMs,
    status,
    response === null ? null : JSON.stringify(response),
    pruned,
  );
}
