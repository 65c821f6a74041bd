import { endOccasion } from '../rows/webhook-occasion.ts';
import type { Append } from '../store.ts';
import { cancelApprovals } from './approvals.ts';
import type { Transaction } from './database.ts';
import { noteForWebhooks } from './webhooks.ts';

export interface EndOfRun {
  readonly runNo: number;
  readonly end: NonNullable<Append['end']>;
}

/** With those that work for them: what becomes of a run becomes of these. */
const lockFamilies = `
  SELECT 1 FROM runs WHERE run_no IN (
    SELECT unnest($1::bigint[])
    UNION SELECT child.run_no FROM runs JOIN runs AS child ON child.parent_run_id = runs.run_id
    WHERE runs.run_no = ANY($1::bigint[]) AND child.status = 'running')
  ORDER BY run_no FOR NO KEY UPDATE`;
/** What most runs have nothing of is asked for here and not by a statement each: once the runs are locked, it stays so. */
const lockSessions = `
  SELECT EXISTS (SELECT 1 FROM approvals WHERE run_no = ANY($1::bigint[]) AND decided IS NULL) AS asked,
    EXISTS (SELECT 1 FROM runs JOIN runs AS child ON child.parent_run_id = runs.run_id
      WHERE runs.run_no = ANY($1::bigint[]) AND child.status = 'running') AS helped
  FROM sessions WHERE session_id IN (SELECT session_id FROM runs WHERE run_no = ANY($1::bigint[]))
  ORDER BY session_id FOR NO KEY UPDATE`;
const endAndFree = `
  WITH ended AS (
    UPDATE runs SET status = ending.status, ended_at = ending.at, owner = NULL,
      response = CASE WHEN deleted THEN NULL ELSE ending.response END
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[]) AS ending (run_no, status, at, response)
    WHERE runs.run_no = ending.run_no RETURNING runs.*)
  UPDATE sessions SET running_run_id = NULL, updated_at = ended_at, queue_held = queue_held OR (status <> 'completed' AND EXISTS
    (SELECT 1 FROM queued_tasks WHERE queued_tasks.session_id = sessions.session_id AND queued_tasks.run_id IS NULL))
  FROM ended WHERE sessions.session_id = ended.session_id AND running_run_id = ended.run_id`;
const cancelChildren = `
  UPDATE runs SET control = 'cancel' FROM runs AS parent
  WHERE parent.run_no = ANY($1::bigint[]) AND runs.parent_run_id = parent.run_id AND runs.status = 'running'`;
/** A run that works for another one is paid for by that. */
const charge = `
  INSERT INTO spending (principal, day, tokens, dollars, upload_bytes)
  SELECT principal, day, sum(tokens), sum(dollars), 0
  FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::float8[]) AS spent (run_no, day, tokens, dollars)
    JOIN runs USING (run_no)
  WHERE parent_run_id IS NULL GROUP BY principal, day ORDER BY principal, day
  ON CONFLICT (principal, day) DO UPDATE SET
    tokens = spending.tokens + excluded.tokens, dollars = spending.dollars + excluded.dollars`;

export async function lockRuns(tx: Transaction, runNos: readonly number[]): Promise<void> {
  await tx.run(lockFamilies, runNos);
}

/**
 * In the transaction of the runs' last events: they have their status, their responses are readable, their sessions are free
 * (L4). What waits behind a run that did not complete is held back before anybody can start it (E-664).
 */
export async function endRuns(tx: Transaction, ends: readonly EndOfRun[]): Promise<void> {
  const runNos = ends.map(({ runNo }) => runNo);
  const left = await tx.get(lockSessions, runNos);
  await tx.run(
    endAndFree,
    runNos,
    ends.map(({ end }) => end.status),
    ends.map(({ end }) => end.atMs),
    ends.map(({ end }) => (end.response === null ? null : JSON.stringify(end.response))),
  );
  if (left?.['asked'] === true) await cancelApprovals(tx, ends);
  if (left?.['helped'] === true) await tx.run(cancelChildren, runNos);
  await noteForWebhooks(
    tx,
    ends.map(({ runNo, end }) => endOccasion(runNo, end)),
  );
  const spent = ends.filter(({ end }) => end.spent !== undefined);
  if (spent.length === 0) return;
  await tx.run(
    charge,
    spent.map(({ runNo }) => runNo),
    spent.map(({ end }) => new Date(end.atMs).toISOString().slice(0, 10)),
    spent.map(({ end }) => end.spent?.tokens ?? 0),
    spent.map(({ end }) => end.spent?.dollars ?? 0),
  );
}
