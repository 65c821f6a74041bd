// Rows as the records of the store contract.

import { StorageError } from '../../core/errors.ts';
import { harnessIds, runIds, sessionIds, type FileId } from '../../core/ids.ts';
import type { RunRecord, SessionRecord, UnfinishedRun } from '../store.ts';
import { flag, id, integer, jsonObject, nullable, oneOf, text } from './columns.ts';
import type { Row } from './database.ts';

export const runId = id(runIds);
export const sessionId = id(sessionIds);
export const harnessId = id(harnessIds);

/** The columns that `runRecord` reads; to be followed by conditions on `runs`. */
export const selectRun = 'SELECT * FROM runs JOIN heads USING (run_no)';

/** Answered by indexes alone, whatever the planner knows of the tables. */
export const selectUnfinished = `
  SELECT run_no, run_id, harness_id, owner, control, phase, created_at,
    (SELECT count(*) FROM approvals INDEXED BY approvals_of_run
     WHERE approvals.run_no = runs.run_no AND decided IS NULL) AS open_approvals
  FROM runs INDEXED BY runs_unfinished WHERE status = 'running' ORDER BY run_no`;

/** Ids of uploads as a column has them. */
export function uploadsValue(uploads: readonly FileId[]): string | null {
  return uploads.length === 0 ? null : JSON.stringify(uploads);
}

const controls = ['none', 'pause', 'cancel'] as const;
export const runStatus = (row: Row, name: string) => oneOf(row, name, ['running', 'completed', 'cancelled', 'failed']);
const phases = ['active', 'waiting', 'paused'] as const;

export function unfinishedRun(row: Row): UnfinishedRun {
  return {
    runId: runId(row, 'run_id'),
    harnessId: harnessId(row, 'harness_id'),
    owner: nullable(row, 'owner', text),
    control: oneOf(row, 'control', controls),
    phase: oneOf(row, 'phase', phases),
    createdAtMs: integer(row, 'created_at'),
    openApprovals: integer(row, 'open_approvals'),
  };
}

/** Those records of a list that can be read: one that is damaged is reported to who asks for it alone (E-804). */
export function readable<T>(rows: readonly Row[], read: (row: Row) => T): T[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)];
    } catch (error) {
      if (error instanceof StorageError) return [];
      throw error;
    }
  });
}

export function runRecord(row: Row): RunRecord {
  return {
    runId: runId(row, 'run_id'),
    sessionId: sessionId(row, 'session_id'),
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    turn: integer(row, 'turn'),
    previousRunId: nullable(row, 'previous_run_id', runId),
    status: runStatus(row, 'status'),
    phase: oneOf(row, 'phase', phases),
    parentRunId: nullable(row, 'parent_run_id', runId),
    store: flag(row, 'store'),
    deleted: flag(row, 'deleted'),
    lastSeq: integer(row, 'last_seq'),
    generation: integer(row, 'generation'),
    owner: nullable(row, 'owner', text),
    control: oneOf(row, 'control', controls),
    createdAtMs: integer(row, 'created_at'),
    endedAtMs: nullable(row, 'ended_at', integer),
    response: nullable(row, 'response', jsonObject),
  };
}

export function sessionRecord(row: Row): SessionRecord {
  return {
    sessionId: sessionId(row, 'session_id'),
    harnessId: harnessId(row, 'harness_id'),
    principal: text(row, 'principal'),
    title: text(row, 'title'),
    createdAtMs: integer(row, 'created_at'),
    updatedAtMs: integer(row, 'updated_at'),
    runningRunId: nullable(row, 'running_run_id', runId),
    expiredAtMs: nullable(row, 'expired_at', integer),
    forkedFrom: nullable(row, 'forked_from', runId),
  };
}
