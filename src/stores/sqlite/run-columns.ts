// What is selected where runs are read, and how ids of uploads are kept.

import type { FileId } from '../../core/ids.ts';

/** The columns that `runRecord` reads; to be followed by conditions on `runs`. */
export const selectRun = 'SELECT * FROM runs JOIN heads USING (run_no)';

/** Answered by indexes alone, whatever the planner knows of the tables. */
export const selectUnfinished = `
  SELECT run_no, run_id, harness_id, owner, control, phase, created_at,
    (SELECT last_seq FROM heads WHERE heads.run_no = runs.run_no) AS last_seq,
    (SELECT generation FROM heads WHERE heads.run_no = runs.run_no) AS generation,
    (SELECT count(*) FROM approvals INDEXED BY approvals_of_run
     WHERE approvals.run_no = runs.run_no AND decided IS NULL) AS open_approvals
  FROM runs INDEXED BY runs_unfinished WHERE status = 'running' ORDER BY run_no`;

/** Ids of uploads as a column has them. */
export function uploadsValue(uploads: readonly FileId[]): string | null {
  return uploads.length === 0 ? null : JSON.stringify(uploads);
}
