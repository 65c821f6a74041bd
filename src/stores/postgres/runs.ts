import type { RunId } from '../../core/ids.ts';
import type { RunRecord, Store } from '../store.ts';
import { integer } from '../rows/columns.ts';
import { readable, runHead, runId, runRecord, unfinishedRun } from '../rows/records.ts';
import { tipOf } from './admit.ts';
import { write, type Database, type Reads, type Transaction } from './database.ts';

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

const selectHeads = `
  SELECT run_id, last_seq, status FROM runs JOIN heads USING (run_no) JOIN sessions USING (session_id)
  WHERE run_id = ANY($1::text[]) AND deleted_at IS NULL`;
const selectUnfinished = `
  SELECT run_id, harness_id, owner, control, phase, created_at, last_seq, generation,
    (SELECT count(*) FROM approvals WHERE approvals.run_no = runs.run_no AND decided IS NULL) AS open_approvals
  FROM runs JOIN heads USING (run_no) WHERE status = 'running' ORDER BY run_no`;

/** @param tell  Whoever works on the run is to look at it. */
export function runMethods(db: Database, tell: (run: RunRecord) => void): RunMethods {
  async function ask(id: RunId, set: string): Promise<RunRecord | null> {
    const run = await setControl(db, id, set);
    if (run?.status === 'running') tell(run);
    return run;
  }

  return {
    run: (id) => findRun(db, id),
    heads: async (ids) => readable(await db.all(selectHeads, ids), runHead),
    unfinishedRuns: async () => readable(await db.all(selectUnfinished), unfinishedRun),
    tip: (session) => tipOf(db, session),
    async runIdsOfSession(session) {
      const rows = await db.all('SELECT run_id, turn FROM runs WHERE session_id = $1 ORDER BY turn', session);
      return rows.map((row) => ({ runId: runId(row, 'run_id'), turn: integer(row, 'turn') }));
    },
    requestCancel: (id) => ask(id, `control = 'cancel' WHERE true`),
    requestPause: (id) => ask(id, `control = 'pause' WHERE control = 'none'`),
    takeOver: (id, owner, from) => takeOver(db, { id, owner, from }),
    async release(id, owner) {
      await write(db, 'UPDATE runs SET owner = NULL WHERE run_id = $1 AND owner = $2', id, owner);
    },
    async deleteResponse(id) {
      await write(db, 'UPDATE runs SET deleted = true, response = NULL WHERE run_id = $1', id);
    },
    countTakeover: (id, at) => countTakeover(db, id, at),
  };
}

async function findRun(db: Reads, id: RunId): Promise<RunRecord | null> {
  const row = await db.get('SELECT * FROM runs JOIN heads USING (run_no) WHERE run_id = $1', id);
  return row === undefined ? null : runRecord(row);
}

/** A run and all that work for it, at any depth, as far as they are not over. */
const inTree = `status = 'running' AND run_id IN
    (WITH RECURSIVE tree (id) AS (SELECT $1::text COLLATE "C" UNION SELECT run_id FROM runs JOIN tree ON parent_run_id = id) SELECT id FROM tree)`;
const lockTree = `SELECT 1 FROM runs WHERE ${inTree} ORDER BY run_no FOR NO KEY UPDATE`;

/** @param set  What is set, and of which of them. */
async function controlTree(tx: Transaction, id: RunId, set: string): Promise<void> {
  await tx.run(lockTree, id);
  await tx.run(`UPDATE runs SET ${set} AND ${inTree}`, id);
}

function setControl(db: Database, id: RunId, set: string): Promise<RunRecord | null> {
  return db.transaction('durable', async (tx) => {
    await controlTree(tx, id, set);
    return findRun(tx, id);
  });
}

const lockHead = 'SELECT 1 FROM runs JOIN heads USING (run_no) WHERE run_id = $1 FOR NO KEY UPDATE OF heads';
const setOwner = `
  UPDATE runs SET owner = $2, phase = 'active'
  WHERE run_id = $1 AND status = 'running' AND phase = coalesce($3::text, phase) AND control = coalesce($4::text, control)
    AND ($5::boolean OR owner IS NOT DISTINCT FROM $6::text)
    AND ($7::bigint IS NULL OR $7 = (SELECT generation FROM heads WHERE heads.run_no = runs.run_no))
  RETURNING run_no`;

function takeOver(
  db: Database,
  o: { readonly id: RunId; readonly owner: string; readonly from: Parameters<Store['takeOver']>[2] },
): Promise<RunRecord | null> {
  const { phase = null, control = null, owner: before, generation = null } = o.from ?? {};
  const seen = [phase, control, before === undefined, before ?? null, generation];
  return db.transaction('durable', async (tx) => {
    await tx.run(lockHead, o.id);
    await tx.run(lockTree, o.id);
    const row = await tx.get(setOwner, o.id, o.owner, ...seen);
    if (row === undefined) return null;
    await tx.run('UPDATE heads SET generation = generation + 1, open = 1 WHERE run_no = $1', integer(row, 'run_no'));
    await controlTree(tx, o.id, `control = 'none' WHERE control = 'pause'`);
    return findRun(tx, o.id);
  });
}

function countTakeover(
  db: Database,
  id: RunId,
  { nowMs, sinceMs }: { nowMs: number; sinceMs: number },
): Promise<number> {
  return db.transaction('durable', async (tx) => {
    await tx.run('INSERT INTO takeovers (run_no, at) SELECT run_no, $2::bigint FROM runs WHERE run_id = $1', id, nowMs);
    const sql = 'SELECT count(*) AS count FROM takeovers JOIN runs USING (run_no) WHERE run_id = $1 AND at >= $2';
    const row = await tx.get(sql, id, sinceMs);
    return row === undefined ? 0 : integer(row, 'count');
  });
}
