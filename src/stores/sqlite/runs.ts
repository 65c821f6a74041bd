import type { RunId } from '../../core/ids.ts';
import type { RunRecord, Store } from '../store.ts';
import { tipOf } from './admit.ts';
import { write, type Database, type Reads } from './database.ts';
import { openStretch } from './stretches.ts';
import { integer } from '../rows/columns.ts';
import { readable, runHead, runId, runRecord, unfinishedRun } from '../rows/records.ts';
import { selectRun, selectUnfinished } from './run-columns.ts';

type RunMethods = Pick<
  Store,
  | 'run'
  | 'heads'
  | 'unfinishedRuns'
  | 'tip'
  | 'runIdsOfSession'
  | 'requestCancel'
  | 'requestPause'
  | 'takeOver'
  | 'release'
  | 'deleteResponse'
  | 'countTakeover'
>;

export function runMethods(db: Database): RunMethods {
  return {
    run: async (id) => findRun(db, id),
    heads: async (ids) => readable(db.all(selectHeads, JSON.stringify(ids)), runHead),
    unfinishedRuns: async () => readable(db.all(selectUnfinished), unfinishedRun),
    tip: async (session) => tipOf(db, session),
    async runIdsOfSession(session) {
      const rows = db.all('SELECT run_id, turn FROM runs WHERE session_id = ? ORDER BY turn', session);
      return rows.map((row) => ({ runId: runId(row, 'run_id'), turn: integer(row, 'turn') }));
    },
    async requestCancel(id) {
      write(db, cancelTree, id);
      return findRun(db, id);
    },
    async requestPause(id) {
      write(db, pauseTree, id);
      return findRun(db, id);
    },
    async takeOver(id, owner, from) {
      return takeOver(db, { id, owner, from }) ? findRun(db, id) : null;
    },
    async release(id, owner) {
      write(db, 'UPDATE runs SET owner = NULL WHERE run_id = ? AND owner = ?', id, owner);
    },
    async deleteResponse(id) {
      write(db, 'UPDATE runs SET deleted = 1, response = NULL WHERE run_id = ?', id);
    },
    countTakeover: async (id, at) => countTakeover(db, id, at),
  };
}

const selectHeads = `
  SELECT run_id, last_seq, status FROM runs JOIN heads USING (run_no) JOIN sessions USING (session_id)
  WHERE run_id IN (SELECT value FROM json_each(?)) AND deleted_at IS NULL`;

function findRun(db: Reads, id: RunId): RunRecord | null {
  const row = db.get(`${selectRun} WHERE run_id = ?`, id);
  return row === undefined ? null : runRecord(row);
}

/** A run and all that work for it, at any depth, as far as they are not over. */
const inTree = `status = 'running' AND run_id IN
    (WITH RECURSIVE tree (id) AS (SELECT ? UNION SELECT run_id FROM runs JOIN tree ON parent_run_id = id) SELECT id FROM tree)`;
const cancelTree = `UPDATE runs SET control = 'cancel' WHERE ${inTree}`;
const pauseTree = `UPDATE runs SET control = 'pause' WHERE control = 'none' AND ${inTree}`;
const unpauseTree = `UPDATE runs SET control = 'none' WHERE control = 'pause' AND ${inTree}`;

const setOwner = `
  UPDATE runs SET owner = ?, phase = 'active'
  WHERE run_id = ? AND status = 'running' AND phase = coalesce(?, phase) AND control = coalesce(?, control)
    AND (? OR owner IS ?)
    AND (?7 IS NULL OR ?7 = (SELECT generation FROM heads WHERE heads.run_no = runs.run_no))
  RETURNING run_no`;

function takeOver(
  db: Database,
  o: { readonly id: RunId; readonly owner: string; readonly from: Parameters<Store['takeOver']>[2] },
): boolean {
  const { phase = null, control = null, owner: before, generation = null } = o.from ?? {};
  const seen = [phase, control, before === undefined ? 1 : 0, before ?? null, generation];
  return db.transaction('durable', (tx) => {
    const [row] = tx.returning(setOwner, o.owner, o.id, ...seen);
    if (row === undefined) return false;
    const runNo = integer(row, 'run_no');
    tx.run('UPDATE heads SET generation = generation + 1, open = 1 WHERE run_no = ?', runNo);
    tx.run(unpauseTree, o.id);
    openStretch(tx, runNo);
    return true;
  });
}

function countTakeover(db: Database, id: RunId, { nowMs, sinceMs }: { nowMs: number; sinceMs: number }): number {
  return db.transaction('durable', (tx) => {
    tx.run('INSERT INTO takeovers (run_no, at) SELECT run_no, ? FROM runs WHERE run_id = ?', nowMs, id);
    const sql = 'SELECT count(*) AS count FROM takeovers JOIN runs USING (run_no) WHERE run_id = ? AND at >= ?';
    const row = tx.get(sql, id, sinceMs);
    return row === undefined ? 0 : integer(row, 'count');
  });
}
