// Where the batches of a run lie in the order of time: from `first_batch` to `last_batch`, which stands open while the run is
// at work. A parked run may wait for days in which others fill thousands of eras; none of them is looked into for it.

import type { Transaction } from './database.ts';

const keepStretch = `
  INSERT INTO stretches SELECT run_no, first_batch, last_batch FROM runs WHERE run_no = ? AND last_batch IS NOT NULL`;
const beginStretch = `
  UPDATE runs SET first_batch = (SELECT coalesce(max(batch_no), 0) + 1 FROM event_batches), last_batch = NULL
  WHERE run_no = ? AND last_batch IS NOT NULL`;

/** Batches can be added again. Does nothing for a run that is at work. */
export function openStretch(tx: Transaction, runNo: number): void {
  tx.run(keepStretch, runNo);
  tx.run(beginStretch, runNo);
}

/** Nothing is added for now; called in the transaction of the last batch. */
export function closeStretch(tx: Transaction, runNo: number): void {
  tx.run('UPDATE runs SET last_batch = (SELECT max(batch_no) FROM event_batches) WHERE run_no = ?', runNo);
}
